import HTTPTypes

/// What only HTTP can get wrong; everything else is a `GatewayError`.
enum APIError: Error, Equatable, Sendable {
    /// 400: the request target cannot be read in one way only.
    case malformedTarget
    /// 404: no operation has this path.
    case noSuchRoute
    /// 405: the path has other methods.
    case methodNotAllowed([HTTPRequest.Method])
    /// 415: the content type of the body is not JSON.
    case unsupportedMediaType
    /// 415: the content type of the body is neither NDJSON nor CSV.
    case unsupportedRecords
    /// 415: the body is compressed or coded otherwise.
    case unsupportedContentCoding
    /// 428: a change has no `If-Match`.
    case preconditionRequired
    /// 429: the principal sends requests faster than it may.
    case tooManyRequests(RateRefusal)
}
