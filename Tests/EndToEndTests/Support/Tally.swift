import Foundation
import HTTPTesting
import Synchronization

/// Counts the answers that many clients received.
final class Tally: Sendable {
    private struct State {
        var statuses: [Int: Int] = [:]
        var issued: [String] = []
        var wrong: [String] = []
        var lost = 0
    }

    private let state = Mutex(State())

    /// One answer, or one item of a batch.
    struct Outcome {
        let status: Int
        /// The name of the ledger row, where something was issued: its own identifier, or that of the request.
        let issued: String?

        fileprivate init(_ status: Int, _ name: String?) {
            self.status = status
            issued = status == 201 ? name : nil
        }
    }

    /// Counts an answer, or each answer of a batch. An answer with a status that the test does not expect is kept as
    /// text.
    @discardableResult func note(_ answer: RawResponse, expected: Set<Int>) -> [Outcome] {
        let json = (try? JSON(answer.body)) ?? .null
        let outcomes: [Outcome] =
            switch answer.status {
            // These answers have no place for an identifier. The row is found by that of the request.
            case 200 where json["uri"].text != nil, 303:
                [Outcome(201, answer["X-Request-Id"].map { "request " + $0 })]
            case 200: json["results"].items.map { Outcome($0["status"].integer ?? 201, $0["id"].text) }
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

    /// Notes a problem with an answer.
    func complain(_ text: String) { state.withLock { $0.wrong.append(text) } }

    /// Notes that a connection ended without an answer.
    func noteLoss() { state.withLock { $0.lost += 1 } }

    /// Number of answers with a status.
    func count(of status: Int) -> Int { state.withLock { $0.statuses[status] ?? 0 } }
    /// Number of answers by status.
    var statuses: [Int: Int] { state.withLock { $0.statuses } }
    /// Names of the ledger rows of all credentials that arrived.
    var issued: [String] { state.withLock { $0.issued } }
    /// Answers that were not expected.
    var wrong: [String] { state.withLock { $0.wrong } }
    /// Number of connections that ended without an answer.
    var lost: Int { state.withLock { $0.lost } }
}

/// Tells threads that the run is over.
final class Flag: Sendable {
    private let raised = Atomic(false)

    var isRaised: Bool { raised.load(ordering: .acquiring) }
    func raise() { raised.store(true, ordering: .releasing) }
}

/// Reads a number from the environment, for runs longer than usual.
func setting(_ name: String, default usual: Int) -> Int {
    ProcessInfo.processInfo.environment[name].flatMap { Int($0) } ?? usual
}
