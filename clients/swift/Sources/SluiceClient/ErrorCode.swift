/// The code of a problem of the gateway (`openapi/problems.md`), of a store's error, or of the client itself.
public enum ErrorCode: Sendable, Hashable {
    // What the gateway answers.
    case accessDenied
    case alreadyExists
    case conflict
    case entityTooLarge
    case expectationFailed
    case expiredToken
    case headersTooLarge
    case idempotencyKeyInUse
    case idempotencyKeyReused
    case idempotentAnswerGone
    case internalError
    case invalidArgument
    case malformedRequest
    case methodNotAllowed
    case noSuchAPIKey
    case noSuchBucket
    case noSuchEventSecret
    case noSuchGrant
    case noSuchGroupMember
    case noSuchIssuance
    case noSuchIssuer
    case noSuchQuota
    case noSuchRoute
    case noSuchStorageCredential
    case noSuchTicket
    case noSuchUpload
    case notEnforceable
    case outsideAdminScope
    case preconditionFailed
    case preconditionRequired
    case quotaExceeded
    case requestTimeout
    case requestTooLarge
    case serviceUnavailable
    case slowDown
    case storeRefused
    case targetTooLong
    case tooManyRequests
    case unauthenticated
    case unsupportedMediaType

    // What the client finds.
    /// No answer came, or not all of it.
    case networkError
    /// The file changed during its transfer.
    case fileChanged
    /// The object at the store is not what was sent.
    case mismatch

    /// Any other code, such as one of a store (`NoSuchKey`), one of a newer gateway, or `HTTP502` for an answer without
    /// a code.
    case unknown(String)
}

extension ErrorCode {
    /// Takes the code as the gateway writes it.
    public init(_ name: String) {
        self = Self.codes[name] ?? .unknown(name)
    }

    /// The code as the gateway writes it, such as `AccessDenied`.
    public var name: String {
        if case .unknown(let text) = self { return text }
        return Self.names[self] ?? ""
    }

    /// All codes but `unknown`.
    static let codes: [String: ErrorCode] = [
        "AccessDenied": .accessDenied, "AlreadyExists": .alreadyExists, "Conflict": .conflict,
        "EntityTooLarge": .entityTooLarge, "ExpectationFailed": .expectationFailed, "ExpiredToken": .expiredToken,
        "HeadersTooLarge": .headersTooLarge, "IdempotencyKeyInUse": .idempotencyKeyInUse,
        "IdempotencyKeyReused": .idempotencyKeyReused, "IdempotentAnswerGone": .idempotentAnswerGone,
        "InternalError": .internalError, "InvalidArgument": .invalidArgument, "MalformedRequest": .malformedRequest,
        "MethodNotAllowed": .methodNotAllowed, "NoSuchAPIKey": .noSuchAPIKey, "NoSuchBucket": .noSuchBucket,
        "NoSuchEventSecret": .noSuchEventSecret, "NoSuchGrant": .noSuchGrant,
        "NoSuchGroupMember": .noSuchGroupMember, "NoSuchIssuance": .noSuchIssuance, "NoSuchIssuer": .noSuchIssuer,
        "NoSuchQuota": .noSuchQuota, "NoSuchRoute": .noSuchRoute,
        "NoSuchStorageCredential": .noSuchStorageCredential, "NoSuchTicket": .noSuchTicket,
        "NoSuchUpload": .noSuchUpload, "NotEnforceable": .notEnforceable, "OutsideAdminScope": .outsideAdminScope,
        "PreconditionFailed": .preconditionFailed, "PreconditionRequired": .preconditionRequired,
        "QuotaExceeded": .quotaExceeded, "RequestTimeout": .requestTimeout, "RequestTooLarge": .requestTooLarge,
        "ServiceUnavailable": .serviceUnavailable, "SlowDown": .slowDown, "StoreRefused": .storeRefused,
        "TargetTooLong": .targetTooLong, "TooManyRequests": .tooManyRequests, "Unauthenticated": .unauthenticated,
        "UnsupportedMediaType": .unsupportedMediaType, "NetworkError": .networkError, "FileChanged": .fileChanged,
        "Mismatch": .mismatch,
    ]

    private static let names = Dictionary(uniqueKeysWithValues: codes.map { ($1, $0) })
}

extension ErrorCode: CustomStringConvertible {
    /// The code as the gateway writes it.
    public var description: String { name }
}
