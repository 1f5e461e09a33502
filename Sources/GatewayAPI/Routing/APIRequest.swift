import GatewayCore
import HTTPServing
import HTTPTypes
import LibCrypto
import StrictJSON
import Synchronization

/// A request on its way through the steps to its endpoint; a class, as everything on that way holds it.
final class APIRequest: Sendable {
    /// Identifier in logs, answers and rows.
    let id: String
    /// When it came.
    let start: ContinuousClock.Instant
    let method: HTTPRequest.Method
    let headers: HeaderFields
    /// What method and target lead to.
    let match: RouteMatch
    let body: RequestBody
    /// Where the request came from, as far as trusted proxies vouch for it.
    let sourceAddress: IPAddress?
    /// What the steps and the endpoint learn, for the log.
    let notes: RequestNotes
    private let claimed: Claimed?

    /// What only a request with an idempotency key has.
    private final class Claimed: Sendable {
        let claim: IdempotencyClaim
        let repeatable: RepeatableIssuing

        init(_ claim: IdempotencyClaim, _ repeatable: RepeatableIssuing) {
            self.claim = claim
            self.repeatable = repeatable
        }
    }

    convenience init(
        id: String, start: ContinuousClock.Instant, method: HTTPRequest.Method, headers: HeaderFields,
        match: RouteMatch, body: RequestBody, sourceAddress: IPAddress?
    ) {
        self.init(
            id: id, start: start, method: method, headers: headers, match: match, body: body,
            sourceAddress: sourceAddress, notes: RequestNotes(), claimed: nil)
    }

    private init(
        id: String, start: ContinuousClock.Instant, method: HTTPRequest.Method, headers: HeaderFields,
        match: RouteMatch, body: RequestBody, sourceAddress: IPAddress?, notes: RequestNotes, claimed: Claimed?
    ) {
        self.notes = notes
        self.claimed = claimed
        self.id = id
        self.start = start
        self.method = method
        self.headers = headers
        self.match = match
        self.body = body
        self.sourceAddress = sourceAddress
    }

    /// The same request under a claim of its idempotency key.
    func claimed(_ claim: IdempotencyClaim, _ repeatable: RepeatableIssuing) -> APIRequest {
        APIRequest(
            id: id, start: start, method: method, headers: headers, match: match, body: body,
            sourceAddress: sourceAddress, notes: notes, claimed: Claimed(claim, repeatable))
    }

    /// The same request with another body.
    func with(body: RequestBody) -> APIRequest {
        APIRequest(
            id: id, start: start, method: method, headers: headers, match: match, body: body,
            sourceAddress: sourceAddress, notes: notes, claimed: claimed)
    }

    // MARK: Idempotency

    /// What makes the request issue the same again, where it came with an idempotency key.
    var repeatable: RepeatableIssuing? { claimed?.repeatable }
    /// The claim of that key.
    var claim: IdempotencyClaim? { claimed?.claim }

    // MARK: The operation

    /// The operation.
    ///
    /// - Precondition: The request leads to one, as it does behind the first step.
    var route: Route {
        guard let route = match.route else { preconditionFailure("The request leads to no operation.") }
        return route
    }

    /// The segment that fills the template's parameter at an index.
    func parameter(_ index: Int) -> String { match.parameters[index] }

    // MARK: The query

    /// The value of a query parameter that may be given once at most.
    func query(_ name: String) throws(GatewayError) -> String? {
        let values = (match.target?.query ?? []).filter { $0.name == name }
        guard values.count <= 1 else {
            throw .invalidArgument(field: name, reason: "The parameter is given more than once.")
        }
        return values.first?.value
    }

    /// Refuses query parameters that the operation does not have.
    func allowQuery(_ names: Set<String>) throws(GatewayError) {
        for pair in match.target?.query ?? [] where !names.contains(pair.name) {
            throw .invalidArgument(
                field: String(pair.name.prefix(64)), reason: "The query parameter does not exist.")
        }
    }
}

/// What is learnt about a request while it is answered, for its log line and the metrics.
final class RequestNotes: Sendable {
    struct Facts: Sendable {
        var principal: Principal?
        var problemCode: String?
        /// What the signature did not bind, where nothing was issued for that reason.
        var gap: ProofGap?
        /// Why the gateway could not answer, where that was its fault or that of something it needs.
        var cause: Cause?
    }

    private let facts = Mutex(Facts())

    var current: Facts { facts.withLock { $0 } }

    func note(principal: Principal) {
        facts.withLock { $0.principal = principal }
    }

    func note(problemCode: String) {
        facts.withLock { $0.problemCode = problemCode }
    }

    func note(cause: Cause) {
        facts.withLock { $0.cause = cause }
    }

    func note(gap: ProofGap) {
        facts.withLock { $0.gap = gap }
    }
}

extension APIRequest {
    /// The problem of an error; what operators have to know besides is noted for the log.
    func problem(for error: GatewayError) -> Problem {
        if case .unproven(let gap) = error { notes.note(gap: gap) }
        if let cause = error.cause { notes.note(cause: cause) }
        return Problem(error)
    }
}

extension Caller {
    /// Who changes something, for the audit.
    func change(in request: APIRequest) -> ChangeContext {
        ChangeContext(actor: principal, requestID: request.id, claim: request.claim)
    }
}

extension Substring {
    /// Drops characters at both ends.
    func trimming(while predicate: (Character) -> Bool) -> Substring {
        var rest = drop(while: predicate)
        while let last = rest.last, predicate(last) { rest.removeLast() }
        return rest
    }
}
