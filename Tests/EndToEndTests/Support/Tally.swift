import Foundation
import HTTPTesting
import Synchronization

/// What many clients were answered.
final class Tally: Sendable {
    private struct State {
        var statuses: [Int: Int] = [:]
        var issued: [String] = []
        var wrong: [String] = []
        var lost = 0
    }

    private let state = Mutex(State())

    /// Takes down an answer, or each of the answers of a batch; one that nothing here expects is kept as text.
    ///
    /// - Returns: The statuses.
    @discardableResult func note(_ answer: RawResponse, expected: Set<Int>) -> [Int] {
        let json = (try? JSON(answer.body)) ?? .null
        let outcomes: [(Int, String?)] =
            switch answer.status {
            case 200: json["results"].items.map(Self.outcome)
            // The URL itself is in the header; the row is found by the request.
            case 303: [(201, answer["X-Request-Id"].map { "request " + $0 })]
            default: [(answer.status, json["id"].text)]
            }
        state.withLock { state in
            for (status, id) in outcomes {
                state.statuses[status, default: 0] += 1
                if status == 201, let id { state.issued.append(id) }
                if !expected.contains(status), state.wrong.count < 10 { state.wrong.append(answer.text) }
            }
        }
        return outcomes.map(\.0)
    }

    private static func outcome(_ result: JSON) -> (Int, String?) {
        (result["status"].integer ?? 201, result["id"].text)
    }

    /// Takes down a problem with an answer.
    func complain(_ text: String) { state.withLock { $0.wrong.append(text) } }

    /// Takes down that a connection ended without an answer.
    func noteLoss() { state.withLock { $0.lost += 1 } }

    /// How often a status was answered.
    func count(of status: Int) -> Int { state.withLock { $0.statuses[status] ?? 0 } }
    /// Each status and how often it was answered.
    var statuses: [Int: Int] { state.withLock { $0.statuses } }
    /// Identifiers of the URLs that arrived.
    var issued: [String] { state.withLock { $0.issued } }
    /// Answers that were not expected.
    var wrong: [String] { state.withLock { $0.wrong } }
    /// Connections that ended without an answer.
    var lost: Int { state.withLock { $0.lost } }
}

/// Says to threads that it is over.
final class Flag: Sendable {
    private let raised = Atomic(false)

    var isRaised: Bool { raised.load(ordering: .acquiring) }
    func raise() { raised.store(true, ordering: .releasing) }
}

/// A number that the environment sets, for runs that are longer than the usual.
func setting(_ name: String, default usual: Int) -> Int {
    ProcessInfo.processInfo.environment[name].flatMap { Int($0) } ?? usual
}
