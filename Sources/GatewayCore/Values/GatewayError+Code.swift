extension GatewayError {
    /// The stable code of the answer, in the stores' words. Clients compare it, and denials are counted by it.
    public var code: String {
        switch self {
        case .invalidArgument: "InvalidArgument"
        case .unauthenticated: "Unauthenticated"
        case .credentialExpired: "ExpiredToken"
        case .accessDenied, .conditionFailed, .roleRequired: "AccessDenied"
        case .outsideAdminScope: "OutsideAdminScope"
        case .entityTooLarge: "EntityTooLarge"
        case .notEnforceable: "NotEnforceable"
        case .quotaExceeded: "QuotaExceeded"
        case .notFound(let kind): "NoSuch" + kind.rawValue
        case .alreadyExists: "AlreadyExists"
        case .conflict: "Conflict"
        case .storeRefused: "StoreRefused"
        case .preconditionFailed: "PreconditionFailed"
        case .itemsRefused(let first, _): first.error.code
        case .idempotency(.otherRequest): "IdempotencyKeyReused"
        case .idempotency(.inFlight): "IdempotencyKeyInUse"
        case .idempotency(.answerGone): "IdempotentAnswerGone"
        case .unproven: "InternalError"
        case .slowDown, .staleCaller: "SlowDown"
        case .unavailable, .clockDiffers: "ServiceUnavailable"
        }
    }
}
