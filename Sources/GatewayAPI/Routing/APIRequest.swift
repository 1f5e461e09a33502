import FoundationEssentials
import GatewayCore
import HTTPServing
import HTTPTypes

/// A request on its way through the steps to its endpoint. It is a class, since every step holds it.
final class APIRequest: Sendable {
    /// Identifier of the request in logs, answers and rows.
    let id: String
    /// The time at which the head of the request had arrived.
    let start: ContinuousClock.Instant
    /// The end of the body, if a step has gathered it; else ``start``. Deadlines and rates of what the caller asks for
    /// count from here, so that a slow upload of the body costs nothing.
    let arrival: ContinuousClock.Instant
    let method: HTTPRequest.Method
    let headers: HeaderFields
    /// The route to which method and target lead.
    let match: RouteMatch
    let body: RequestBody
    /// The address from which the request came, as far as trusted proxies vouch for it.
    let sourceAddress: IPAddress?
    /// The trace that the caller began; `nil` if it sent none.
    let trace: TraceContext?
    /// Facts that the steps and the endpoint note for the log.
    let notes: RequestNotes
    private let claimed: Claimed?

    /// Holds what only a request with an idempotency key has.
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
        notes: RequestNotes, body: RequestBody, sourceAddress: IPAddress?, trace: TraceContext? = nil
    ) {
        self.init(
            id: id, start: start, arrival: start, method: method, headers: headers, match: notes.match, body: body,
            sourceAddress: sourceAddress, trace: trace, notes: notes, claimed: nil)
    }

    private init(
        id: String, start: ContinuousClock.Instant, arrival: ContinuousClock.Instant, method: HTTPRequest.Method,
        headers: HeaderFields, match: RouteMatch, body: RequestBody, sourceAddress: IPAddress?, trace: TraceContext?,
        notes: RequestNotes, claimed: Claimed?
    ) {
        self.notes = notes
        self.claimed = claimed
        self.id = id
        self.start = start
        self.arrival = arrival
        self.method = method
        self.headers = headers
        self.match = match
        self.body = body
        self.sourceAddress = sourceAddress
        self.trace = trace
    }

    /// The same request under a claim on its idempotency key.
    func claimed(_ claim: IdempotencyClaim, _ repeatable: RepeatableIssuing) -> APIRequest {
        APIRequest(
            id: id, start: start, arrival: arrival, method: method, headers: headers, match: match, body: body,
            sourceAddress: sourceAddress, trace: trace, notes: notes, claimed: Claimed(claim, repeatable))
    }

    /// The same request with its body, which has just arrived.
    func with(body: RequestBody) -> APIRequest {
        APIRequest(
            id: id, start: start, arrival: .now, method: method, headers: headers, match: match, body: body,
            sourceAddress: sourceAddress, trace: trace, notes: notes, claimed: claimed)
    }

    // MARK: Idempotency

    /// With this, a repeated request issues the same credentials again; `nil` without an idempotency key.
    var repeatable: RepeatableIssuing? { claimed?.repeatable }
    /// The claim on the idempotency key; `nil` without one.
    var claim: IdempotencyClaim? { claimed?.claim }

    // MARK: The operation

    /// The operation.
    ///
    /// - Precondition: The request has an operation, which is always the case after the first step.
    var route: Route {
        guard let route = match.route else { preconditionFailure("The request leads to no operation.") }
        return route
    }

    /// The segment that matches the template's parameter at an index.
    func parameter(_ index: Int) -> String { match.parameters[index] }

    /// The identifier that the path names first. It is noted as the row if the route is for admins.
    ///
    /// - Throws: ``GatewayError/notFound(_:)`` for a text that is no identifier of any row.
    func rowID(of kind: ResourceKind) throws(GatewayError) -> UUID {
        guard let id = UUID(uuidString: parameter(0)) else { throw .notFound(kind) }
        if route.access.isOfAdmins { notes.note(row: id.lowercaseText) }
        return id
    }

    /// The bucket that the path names first. It is noted as the row.
    ///
    /// - Throws: ``GatewayError/notFound(_:)`` for a text that is no name of any bucket.
    func bucketName() throws(GatewayError) -> BucketName {
        guard let name = try? BucketName(parameter(0)) else { throw .notFound(.bucket) }
        notes.note(row: name.rawValue)
        return name
    }

    // MARK: The query

    /// The value of a query parameter that may appear at most once.
    func query(_ name: String) throws(GatewayError) -> String? {
        let values = (match.target?.query ?? []).filter { $0.name == name }
        guard values.count <= 1 else {
            throw .invalidArgument(field: name, reason: "The query parameter '\(name)' is given more than once.")
        }
        return values.first?.value
    }

    /// Refuses query parameters that the operation does not have.
    func allowQuery(_ names: Set<String>) throws(GatewayError) {
        for pair in match.target?.query ?? [] where !names.contains(pair.name) {
            let name = String(pair.name.prefix(64))
            throw .invalidArgument(field: name, reason: "The query parameter '\(name)' does not exist here.")
        }
    }
}

extension APIRequest {
    /// Makes the problem of an error, and notes for the log what operators need to know besides.
    func problem(for error: GatewayError) -> Problem {
        if case .unproven(let gap) = error { notes.note(gap: gap) }
        if let cause = error.cause { notes.note(cause: cause) }
        return Problem(error, for: reader)
    }

    /// Who reads the answer. Before the caller of an admin route is known, that may be anybody.
    private var reader: Cause.Reader {
        guard match.route?.access.isOfAdmins == true, notes.current.principal != nil else { return .user }
        return .admin
    }
}

extension Caller {
    /// Says who changes something, for the audit, and within what.
    func change(in request: APIRequest) -> ChangeContext {
        ChangeContext(
            actor: principal, requestID: request.id, claim: request.claim, credential: scope,
            proof: proof, authority: request.authority(of: self))
    }
}

extension APIRequest {
    /// What the caller may see and change by this request. Roles limit admin operations only.
    func authority(of caller: Caller) -> AdminAuthority { route.access.isOfAdmins ? caller.authority : .unlimited }

    /// What the caller may see by this request.
    func reach(of caller: Caller) -> AdminReach { authority(of: caller).sees }
}

extension Substring {
    /// Drops matching characters at both ends.
    func trimming(while predicate: (Character) -> Bool) -> Substring {
        var rest = drop(while: predicate)
        while let last = rest.last, predicate(last) { rest.removeLast() }
        return rest
    }
}
