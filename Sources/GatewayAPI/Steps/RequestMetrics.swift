import Metrics
import Synchronization

/// The gateway's metrics. Every dimension is bounded: route templates, known methods, statuses and codes.
final class RequestMetrics: Sendable {
    private let factory: any MetricsFactory
    private let inFlight: Meter
    private let issued: Counters
    private let refused: Counters
    private let told: Counters
    private let dropped: Counters

    init(factory: any MetricsFactory) {
        self.factory = factory
        inFlight = Meter(label: "sluice_http_requests_in_flight", dimensions: [], factory: factory)
        issued = Counters("sluice_issued_total", "action", "method", factory: factory)
        refused = Counters("sluice_refused_total", "code", factory: factory)
        told = Counters("sluice_store_events_total", "outcome", factory: factory)
        dropped = Counters("sluice_refusals_dropped_total", "code", factory: factory)
    }

    /// The metrics of the requests for a path.
    func figures(of template: String) -> RouteFigures {
        RouteFigures(template: template, factory: factory)
    }

    /// Counts a request that begins.
    func began() {
        inFlight.increment()
    }

    /// Counts a request that was answered.
    func ended() {
        inFlight.decrement()
    }

    /// Counts a credential that was issued.
    func issued(action: String, method: String) {
        issued.increment(action, method)
    }

    /// Counts a refusal by its stable code.
    func refused(code: String) {
        refused.increment(code)
    }

    /// Counts a refusal that is not kept, because there are too many.
    func dropped(code: String) {
        dropped.increment(code)
    }

    /// Counts the events that stores sent.
    func took(noted: Int, ignored: Int) {
        told.increment("noted", by: noted)
        told.increment("ignored", by: ignored)
    }
}

/// The metrics of the requests for one path. They appear on the metrics page after the first request.
final class RouteFigures: Sendable {
    private let answered: Counters
    private let factory: any MetricsFactory
    private let template: String
    private let timer = Mutex<Timer?>(nil)

    fileprivate init(template: String, factory: any MetricsFactory) {
        self.template = template
        self.factory = factory
        answered = Counters(
            "sluice_http_requests_total", "method", "status", besides: [("route", template)], factory: factory)
    }

    /// Counts a request that was answered.
    func answered(method: String, status: Int, after nanoseconds: Int64) {
        answered.increment(method, String(status))
        let timer = timer.withLock { timer in
            if let timer { return timer }
            let made = Timer(
                label: "sluice_http_request_duration_seconds", dimensions: [("route", template)], factory: factory)
            timer = made
            return made
        }
        timer.recordNanoseconds(nanoseconds)
    }
}

/// Counters with one name, by the values of one or two dimensions. Each is made when it is first needed.
///
/// There are few of them: comparing their values one by one costs less than hashing them.
private final class Counters: Sendable {
    private let name: String
    private let dimensions: [String]
    private let others: [(String, String)]
    private let factory: any MetricsFactory
    private let made = Mutex<[(first: String, second: String, counter: Counter)]>([])

    init(_ name: String, _ dimensions: String..., besides others: [(String, String)] = [], factory: any MetricsFactory)
    {
        self.name = name
        self.dimensions = dimensions
        self.others = others
        self.factory = factory
    }

    func increment(_ first: String, _ second: String = "", by count: Int = 1) {
        let counter = made.withLock { made in
            if let place = made.firstIndex(where: { $0.first == first && $0.second == second }) {
                return made[place].counter
            }
            let counter = Counter(
                label: name, dimensions: Array(zip(dimensions, [first, second])) + others, factory: factory)
            made.append((first, second, counter))
            return counter
        }
        counter.increment(by: count)
    }
}
