import HTTPTypes

/// The kinds of problems. The raw value is the end of `type`, and the name of a section in `openapi/problems.md`.
enum ProblemKind: String, CaseIterable, Sendable {
    case invalidArgument = "invalid-argument"
    case unauthenticated = "unauthenticated"
    case expiredToken = "expired-token"
    case accessDenied = "access-denied"
    case conditionFailed = "condition-failed"
    case roleRequired = "role-required"
    case outsideAdminScope = "outside-admin-scope"
    case entityTooLarge = "entity-too-large"
    case notEnforceable = "not-enforceable"
    case quotaExceeded = "quota-exceeded"
    case notFound = "not-found"
    case alreadyExists = "already-exists"
    case conflict = "conflict"
    case storeRefused = "store-refused"
    case preconditionFailed = "precondition-failed"
    case preconditionRequired = "precondition-required"
    case idempotencyKeyReused = "idempotency-key-reused"
    case idempotencyKeyInUse = "idempotency-key-in-use"
    case idempotentAnswerGone = "idempotent-answer-gone"
    case tooManyRequests = "too-many-requests"
    case slowDown = "slow-down"
    case unavailable = "service-unavailable"
    case internalError = "internal-error"
    case noSuchRoute = "no-such-route"
    case methodNotAllowed = "method-not-allowed"
    case unsupportedMediaType = "unsupported-media-type"
    case malformedRequest = "malformed-request"
    case requestTimeout = "request-timeout"
    case requestTooLarge = "request-too-large"
    case targetTooLong = "target-too-long"
    case expectationFailed = "expectation-failed"
    case headersTooLarge = "headers-too-large"

    /// The value of `type`: a reference relative to the gateway.
    var type: String { "/problems/" + rawValue }

    var title: String { facts.title }

    var status: HTTPResponse.Status { facts.status }

    /// The stable code, that of each `GatewayError` of this kind. For `notFound`, each kind of resource has its own
    /// instead.
    var code: String { facts.code }

    private var facts: (code: String, title: String, status: HTTPResponse.Status) {
        switch self {
        case .invalidArgument: ("InvalidArgument", "An argument is not valid", .badRequest)
        case .unauthenticated: ("Unauthenticated", "Authentication is required", .unauthorized)
        case .expiredToken: ("ExpiredToken", "The credential has expired", .unauthorized)
        case .accessDenied: ("AccessDenied", "Access denied", .forbidden)
        case .conditionFailed: ("AccessDenied", "A condition of the grant does not hold", .forbidden)
        case .roleRequired: ("AccessDenied", "A role is required", .forbidden)
        case .outsideAdminScope: ("OutsideAdminScope", "Outside the scopes of the role", .forbidden)
        case .entityTooLarge: ("EntityTooLarge", "The object would be too large", .contentTooLarge)
        case .notEnforceable: ("NotEnforceable", "A limit cannot be enforced here", .unprocessableContent)
        case .quotaExceeded: ("QuotaExceeded", "A quota is used up", .tooManyRequests)
        case .tooManyRequests: ("TooManyRequests", "Too many requests", .tooManyRequests)
        case .notFound: ("NoSuchResource", "There is no such resource", .notFound)
        case .alreadyExists: ("AlreadyExists", "The resource already exists", .conflict)
        case .conflict: ("Conflict", "The change contradicts existing rows", .conflict)
        case .storeRefused: ("StoreRefused", "The store refused the request", .badGateway)
        case .preconditionFailed: ("PreconditionFailed", "The row has changed", .preconditionFailed)
        case .preconditionRequired:
            ("PreconditionRequired", "If-Match is required", .preconditionRequired)
        case .idempotencyKeyReused:
            ("IdempotencyKeyReused", "The key was sent with another request", .unprocessableContent)
        case .idempotencyKeyInUse: ("IdempotencyKeyInUse", "The request is still being answered", .conflict)
        case .idempotentAnswerGone: ("IdempotentAnswerGone", "The answer cannot be repeated", .conflict)
        case .slowDown: ("SlowDown", "Too many requests at once", .serviceUnavailable)
        case .unavailable: ("ServiceUnavailable", "The service is not available", .serviceUnavailable)
        case .internalError: ("InternalError", "The gateway failed", .internalServerError)
        case .noSuchRoute: ("NoSuchRoute", "There is no such path", .notFound)
        case .methodNotAllowed: ("MethodNotAllowed", "The path does not support this method", .methodNotAllowed)
        case .unsupportedMediaType:
            ("UnsupportedMediaType", "The format of the body is not supported", .unsupportedMediaType)
        case .malformedRequest: ("MalformedRequest", "The request cannot be read", .badRequest)
        case .requestTimeout: ("RequestTimeout", "The request did not arrive in time", .requestTimeout)
        case .requestTooLarge: ("RequestTooLarge", "The request's body is too large", .contentTooLarge)
        case .targetTooLong: ("TargetTooLong", "The request target is too long", .uriTooLong)
        case .expectationFailed: ("ExpectationFailed", "The expectation cannot be met", .expectationFailed)
        case .headersTooLarge: ("HeadersTooLarge", "The header section is too large", .requestHeaderFieldsTooLarge)
        }
    }
}
