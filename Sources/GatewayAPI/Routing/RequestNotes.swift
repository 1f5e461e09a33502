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
        /// The part that the signature did not bind, where nothing was issued for that reason.
        var gap: ProofGap?
        /// The reason why the gateway could not answer, where the fault was its own or that of a service it needs.
        var cause: Cause?
        /// Why the request, or items of it, were refused: the first ``RequestNotes/maxRefusals``.
        var refusals: [RefusalNote] = []
        /// Number of all refusals.
        var refusalCount = 0

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

    func note(_ refusal: RefusalNote) {
        facts.withLock { facts in
            facts.refusalCount += 1
            if facts.refusals.count < Self.maxRefusals { facts.refusals.append(refusal) }
        }
    }
}
