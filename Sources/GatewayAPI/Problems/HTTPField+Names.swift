import HTTPTypes

extension HTTPField.Name {
    static let rateLimit = registered("RateLimit")
    static let rateLimitPolicy = registered("RateLimit-Policy")
    static let referrerPolicy = registered("Referrer-Policy")
    static let crossOriginOpenerPolicy = registered("Cross-Origin-Opener-Policy")
    static let permissionsPolicy = registered("Permissions-Policy")
    static let ossPublicKeyURL = registered("x-oss-pub-key-url")
    static let idempotencyKey = registered("Idempotency-Key")
    static let idempotencyReplayed = registered("Idempotency-Replayed")
    static let lfsAuthenticate = registered("LFS-Authenticate")
    static let requestID = registered("X-Request-Id")
    static let forwardedFor = registered("X-Forwarded-For")
    static let forwarded = registered("Forwarded")
    static let sluiceAuthorization = registered("Sluice-Authorization")
    static let sluiceBucket = registered("Sluice-Bucket")
    static let sluicePrefix = registered("Sluice-Prefix")
    static let traceParent = registered("traceparent")
    static let traceState = registered("tracestate")

    private static func registered(_ name: String) -> HTTPField.Name {
        guard let field = HTTPField.Name(name) else { preconditionFailure("'\(name)' is not a token.") }
        return field
    }
}
