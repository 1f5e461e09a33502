import GatewayCore
import HTTPServing
import HTTPTypes
import LibCrypto
import StrictJSON
import Synchronization

/// A request on its way through the middleware to its endpoint; a class, as everything on that way holds it.
final class APIRequest: Sendable {
    /// Identifier in logs, answers and rows.
    let id: String
    /// When it came.
    let start: ContinuousClock.Instant
    let method: HTTPRequest.Method
    let headers: HeaderFields
    /// The target, taken apart; `nil` where it cannot be.
    let target: RequestTarget?
    let match: Router.Match
    let body: RequestBody
    /// Where the request came from, as far as trusted proxies vouch for it.
    let sourceAddress: IPAddress?
    /// What inner parts learn and outer parts log.
    let notes: RequestNotes
    private let claimed: Claimed?

    /// What few requests have: what goes with an idempotency key.
    private final class Claimed: Sendable {
        let claim: IdempotencyClaim
        let repeatable: RepeatableIssuing

        init(_ claim: IdempotencyClaim, _ repeatable: RepeatableIssuing) {
            self.claim = claim
            self.repeatable = repeatable
        }
    }

    /// What makes it issue the same again, where it came with an idempotency key.
    var repeatable: RepeatableIssuing? { claimed?.repeatable }
    /// The claim of that key.
    var claim: IdempotencyClaim? { claimed?.claim }

    convenience init(
        id: String, start: ContinuousClock.Instant, method: HTTPRequest.Method, headers: HeaderFields,
        target: RequestTarget?, match: Router.Match, body: RequestBody, sourceAddress: IPAddress?
    ) {
        self.init(
            id: id, start: start, method: method, headers: headers, target: target, match: match, body: body,
            sourceAddress: sourceAddress, notes: RequestNotes(), claimed: nil)
    }

    private init(
        id: String, start: ContinuousClock.Instant, method: HTTPRequest.Method, headers: HeaderFields,
        target: RequestTarget?, match: Router.Match, body: RequestBody, sourceAddress: IPAddress?,
        notes: RequestNotes, claimed: Claimed?
    ) {
        self.notes = notes
        self.claimed = claimed
        self.id = id
        self.start = start
        self.method = method
        self.headers = headers
        self.target = target
        self.match = match
        self.body = body
        self.sourceAddress = sourceAddress
    }

    /// The same request under a claim of its idempotency key.
    func claimed(_ claim: IdempotencyClaim, _ repeatable: RepeatableIssuing) -> APIRequest {
        APIRequest(
            id: id, start: start, method: method, headers: headers, target: target, match: match, body: body,
            sourceAddress: sourceAddress, notes: notes, claimed: Claimed(claim, repeatable))
    }

    /// The same request with another body.
    func with(body: RequestBody) -> APIRequest {
        APIRequest(
            id: id, start: start, method: method, headers: headers, target: target, match: match, body: body,
            sourceAddress: sourceAddress, notes: notes, claimed: claimed)
    }

    /// The segment that fills the template's parameter at an index.
    func parameter(_ index: Int) -> String {
        guard case .route(_, _, let parameters) = match else { preconditionFailure("No route, no parameters.") }
        return parameters[index]
    }

    /// The path, where there is such a one.
    var path: Router.Path? {
        switch match {
        case .route(_, let path, _), .otherMethod(let path): path
        case .none: nil
        }
    }

    /// What metrics and logs call the path: the template, never what the client sent.
    var routeTemplate: String { path?.template ?? Self.noTemplate }

    static let noTemplate = "none"

    /// Reads the body as one strict JSON object.
    func jsonObject() throws -> JSONObject {
        try JSONObject(jsonText(orOf: nil))
    }

    /// Reads the body as one strict JSON object, and no body as an object without members.
    func jsonObjectIfAny() throws -> JSONObject {
        if case .collected(let bytes) = body, bytes.isEmpty { return try JSONObject(.object([])) }
        return try jsonObject()
    }

    /// Reads the body as one strict JSON value.
    ///
    /// - Parameter other: A media type that is accepted besides `application/json`.
    func jsonValue(orOf other: String? = nil) throws -> JSONValue {
        try jsonText(orOf: other).root.value
    }

    private func jsonText(orOf other: String?) throws -> JSONText {
        guard isJSON || [Self.jsonType, other].contains(Self.essence(of: headers[.contentType] ?? "")) else {
            throw APIError.unsupportedMediaType
        }
        guard case .collected(let bytes) = body else { preconditionFailure("A route that reads JSON collects it.") }
        return try JSONText.body(bytes)
    }

    private static let jsonType = "application/json"

    /// Whether the body is said to be JSON in the very words, as most are.
    private var isJSON: Bool {
        guard let type = headers.onlyValue(of: .contentType) else { return false }
        return Self.jsonType.isSameBytes(as: type.span)
    }

    /// A media type without its parameters, in lower case.
    private static func essence(of type: String) -> String {
        let essence = type.split(separator: ";", maxSplits: 1).first?.trimming(while: { $0 == " " || $0 == "\t" })
        return essence?.lowercased() ?? ""
    }

    /// The value of a query parameter that may stand there once at most.
    func query(_ name: String) throws(GatewayError) -> String? {
        let values = (target?.query ?? []).filter { $0.name == name }
        guard values.count <= 1 else {
            throw .invalidArgument(field: name, reason: "The parameter stands there more than once.")
        }
        return values.first?.value
    }

    /// Refuses query parameters that the operation does not have.
    func allowQuery(_ names: Set<String>) throws(GatewayError) {
        for pair in target?.query ?? [] where !names.contains(pair.name) {
            throw .invalidArgument(
                field: String(pair.name.prefix(64)), reason: "There is no such query parameter.")
        }
    }
}

/// What is learnt about a request while it is answered, for the log line and the metrics.
final class RequestNotes: Sendable {
    struct Facts: Sendable {
        var principal: Principal?
        var problemCode: String?
        /// What was missing in what was signed, where nothing was given for that.
        var gap: ProofGap?
    }

    private let facts = Mutex(Facts())

    var current: Facts { facts.withLock { $0 } }

    func note(principal: Principal) {
        facts.withLock { $0.principal = principal }
    }

    func note(problemCode: String) {
        facts.withLock { $0.problemCode = problemCode }
    }

    func note(gap: ProofGap) {
        facts.withLock { $0.gap = gap }
    }
}

extension APIRequest {
    /// What the caller is told of an error; what operators have to know of it is noted.
    func problem(for error: GatewayError) -> Problem {
        if case .unproven(let gap) = error { notes.note(gap: gap) }
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
