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

    /// One answer, or one of a batch.
    struct Outcome {
        let status: Int
        /// The name of the row in the ledger, where something was issued: its identifier, or that of the request.
        let issued: String?

        fileprivate init(_ status: Int, _ name: String?) {
            self.status = status
            issued = status == 201 ? name : nil
        }
    }

    /// Takes down an answer, or each of the answers of a batch; one that nothing here expects is kept as text.
    @discardableResult func note(_ answer: RawResponse, expected: Set<Int>) -> [Outcome] {
        let json = (try? JSON(answer.body)) ?? .null
        let outcomes: [Outcome] =
            switch answer.status {
            case 200: json["results"].items.map { Outcome($0["status"].integer ?? 201, $0["id"].text) }
            // The URL itself is in the header; the row is found by the request.
            case 303: [Outcome(201, answer["X-Request-Id"].map { "request " + $0 })]
            default: [Outcome(answer.status, json["id"].text)]
            }
        state.withLock { state in
            for outcome in outcomes {
                state.statuses[outcome.status, default: 0] += 1
                if let name = outcome.issued { state.issued.append(name) }
                if !expected.contains(outcome.status), state.wrong.count < 10 { state.wrong.append(answer.text) }
            }
        }
        return outcomes
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
