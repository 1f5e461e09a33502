import HTTPTypes

/// Errors that only HTTP can cause; every other error is a `GatewayError`.
enum APIError: Error, Equatable, Sendable {
    /// 400: the request target can be read in more than one way, or not at all.
    case malformedTarget
    /// 404: no operation has this path.
    case noSuchRoute
    /// 405: the path supports only other methods.
    case methodNotAllowed([HTTPRequest.Method])
    /// 415: the content type of the body is not JSON.
    case unsupportedMediaType
    /// 415: the content type of the body is neither NDJSON nor CSV.
    case unsupportedRecords
    /// 415: the body is compressed or has another content coding.
    case unsupportedContentCoding
    /// 428: a change has no `If-Match`. `source` says what the `ETag` for it is from.
    case preconditionRequired(source: String)
    /// 429: the principal exceeds its request rate.
    case tooManyRequests(RateRefusal)
}
