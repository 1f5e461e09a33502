import GatewayCore
import HTTPTypes
import Synchronization

/// Facts noted about a request from when its head has arrived, for its log line and the metrics. The server hands them
/// back with the request, and again if it answers in place of the gateway.
final class RequestNotes: RefusalNotes {
    /// Most refusals of one request that are kept; a batch may have a thousand.
    static let maxRefusals = 10

    struct Facts: Sendable {
        /// The id under which the gateway answers the request; `nil` until it begins to. An answer that the server
        /// makes later has the same id, by which one can find what the request did.
        var id: String?
        /// The status of the answer that the server made in place of a late one; `nil` if it made none.
        var statusInstead: Int?
        var principal: Principal?
        /// The identifier of the row that an admin reads or changes; `nil` where there are several or none.
        var row: String?
        /// Code and status of the problem that the answer tells; the answer itself may have another status.
        var problem: (code: String, status: Int)?
        /// The status of the first item that failed, if none of a batch was served; the batch is answered 200.
        var statusOfItems: Int?
        /// The part that the signature did not bind, where nothing was issued for that reason.
        var gap: ProofGap?
        /// The reason why the gateway could not answer, where the fault was its own or that of a service it needs.
        var cause: Cause?
        /// Why the request, or items of it, were refused: the first ``RequestNotes/maxRefusals``.
        var refusals: [RefusalNote] = []
        /// Number of all refusals.
        var refusalCount = 0
        /// Number of the refusals that are failures of the gateway, or of what it needs.
        var failureCount = 0

        /// Whether the body ended before its declared end.
        var hasEarlyEnd = false

        /// Whether the request ended with 503, as one that is cancelled does, or for want of the rest of its body, and
        /// the server gave no answer of its own.
        var isGivenUp: Bool { statusInstead == nil && (hasEarlyEnd || problem?.status == 503) }
    }

    /// The route to which method and target lead.
    let match: RouteMatch
    private let facts = Mutex(Facts())

    init(_ match: RouteMatch) {
        self.match = match
    }

    var current: Facts { facts.withLock { $0 } }

    func note(id: String) {
        facts.withLock { $0.id = id }
    }

    func note(statusInstead status: Int) {
        facts.withLock { $0.statusInstead = status }
    }

    func note(principal: Principal) {
        facts.withLock { $0.principal = principal }
    }

    func note(row: String) {
        facts.withLock { $0.row = row }
    }

    func note(_ problem: Problem) {
        facts.withLock { $0.problem = (code: problem.code, status: problem.kind.status.code) }
    }

    func note(cause: Cause) {
        facts.withLock { $0.cause = cause }
    }

    func noteEarlyEnd() {
        facts.withLock { $0.hasEarlyEnd = true }
    }

    func note(gap: ProofGap) {
        facts.withLock { $0.gap = gap }
    }

    func note(statusOfItems status: Int) {
        facts.withLock { $0.statusOfItems = status }
    }

    func note(_ refusal: RefusalNote) {
        facts.withLock { $0.note(refusal) }
    }

    /// Notes the failures of a batch, but not again those that decisions have noted, with what was asked for.
    func note(failures: [RefusalNote]) {
        facts.withLock { facts in
            let noted = facts.refusals.filter { $0.reason == .failed }
            let new = failures.filter { failure in
                !noted.contains { $0.code == failure.code && $0.subject == failure.subject }
            }
            // Of more refusals than are kept, only the number is known.
            for failure in new.prefix(max(0, failures.count - facts.failureCount)) { facts.note(failure) }
        }
    }
}

extension RequestNotes.Facts {
    fileprivate mutating func note(_ refusal: RefusalNote) {
        refusalCount += 1
        if refusal.reason == .failed { failureCount += 1 }
        if refusals.count < RequestNotes.maxRefusals { refusals.append(refusal) }
    }
}
