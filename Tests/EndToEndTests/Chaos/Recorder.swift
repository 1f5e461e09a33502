import Synchronization

/// Records a history while it happens.
final class Recorder: Sendable {
    private let begin = ContinuousClock.now
    private let written: Mutex<History>

    /// - Parameter history: The initial state.
    init(_ history: History) { written = Mutex(history) }

    /// Seconds since the run began.
    var now: Double { (ContinuousClock.now - begin) / .seconds(1) }

    /// The history so far.
    var history: History { written.withLock { $0 } }

    func note(_ asks: [Ask]) { written.withLock { $0.asks += asks } }
    func note(_ change: Change) { written.withLock { $0.changes.append(change) } }
    func note(_ revival: Revival) { written.withLock { $0.revivals.append(revival) } }

    /// The number of requests so far.
    var askCount: Int { written.withLock { $0.asks.count } }

    /// Notes that a fault of a gateway begins.
    func begin(_ kind: Incident.Kind, _ gateway: Int, _ life: Int) {
        let incident = Incident(kind: kind, gateway: gateway, life: life, from: now, to: .infinity)
        written.withLock { $0.incidents.append(incident) }
    }

    /// Notes that the latest fault of this kind has ended.
    func end(_ kind: Incident.Kind, _ gateway: Int, _ life: Int) {
        let now = now
        written.withLock { history in
            let index = history.incidents.lastIndex { $0.kind == kind && $0.gateway == gateway && $0.life == life }
            if let index { history.incidents[index].to = now }
        }
    }
}
