import HTTPTypes

/// What only HTTP can get wrong; everything else is a `GatewayError`.
enum APIError: Error, Equatable, Sendable {
    /// 400: the request target cannot be read in one way only.
    case malformedTarget
    /// 404: no operation has this path.
    case noSuchRoute
    /// 405: the path has other methods.
    case methodNotAllowed([HTTPRequest.Method])
    /// 415: the body is not said to be JSON.
    case unsupportedMediaType
    /// 415: the body is not said to be NDJSON or CSV.
    case unsupportedRecords
    /// 415: the body is not sent as it is, but compressed for example.
    case unsupportedContentCoding
    /// 428: a change does not say which state of the row it was made for.
    case preconditionRequired
    /// 429: the principal sends more than it may in a time.
    case tooManyRequests(RateRefusal)
}
