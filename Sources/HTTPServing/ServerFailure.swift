public import HTTPTypes

/// Why the server itself refuses a request.
public enum ServerFailure: Error, Sendable, Equatable {
    /// 400: the bytes are not one unambiguous HTTP/1.1 request. The text tells the client why. The connection closes.
    case badRequest(String)
    /// 408: the request did not arrive in time.
    case requestTimeout
    /// 413: the body is larger than its route permits.
    case contentTooLarge(maxBytes: Int64)
    /// 414: the request target is too long.
    case uriTooLong
    /// 417: the request has an `Expect` other than `100-continue`.
    case expectationFailed
    /// 431: the head is too large for the memory of a connection, of which it may take `maxBytes`.
    case headerFieldsTooLarge(maxBytes: Int)
    /// 503: the server lacks a resource that an answer needs. `retryAfter` is in seconds.
    case unavailable(retryAfter: Int, lacking: Shortage)

    /// The resources that the server can lack. The raw value is a phrase for the log.
    public enum Shortage: String, Sendable, CaseIterable {
        case connections = "too many connections are open"
        case memory = "bodies take all the memory that they may have"
        case requests = "too many requests are in flight"
        case time = "the request was not answered by its deadline"
    }

    /// The status of the response.
    public var status: HTTPResponse.Status {
        switch self {
        case .badRequest: .badRequest
        case .requestTimeout: .requestTimeout
        case .contentTooLarge: .contentTooLarge
        case .uriTooLong: .uriTooLong
        case .expectationFailed: .expectationFailed
        case .headerFieldsTooLarge: .requestHeaderFieldsTooLarge
        case .unavailable: .serviceUnavailable
        }
    }
}
