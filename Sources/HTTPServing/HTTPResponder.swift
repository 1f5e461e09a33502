public import HTTPTypes

/// What an HTTP server drives: one asynchronous function from request to response, and two questions it asks on the way.
///
/// It needs no socket, so every route runs in a test without one.
public protocol HTTPResponder: AnyObject, Sendable {
    /// Says how the body of a request is to be read; called once, before any byte of it, on a thread that must not block.
    func bodyPlan(for head: RequestHead) -> BodyPlan

    /// Answers a request. Never throws: an error is a response.
    func respond(to request: ServerRequest) async -> ServerResponse

    /// The answer to a request that never reached ``respond(to:)``, in the form that the service documents.
    func response(to failure: ServerFailure) -> ServerResponse
}

/// How the server reads a request's body.
public enum BodyPlan: Sendable, Equatable {
    /// To be held whole; a longer body is answered with 413. The server gathers a short one first. A long one is handed over as
    /// it arrives, so that nobody has to hold it for a caller who is not known yet; it has to arrive in the same time.
    case collect(maxBytes: Int)
    /// Handed over as it arrives, with back-pressure; a body that grows past the limit ends the stream with an error. An answer
    /// may have a deadline of its own, in place of the server's.
    case stream(maxBytes: Int64, answerDeadline: Duration? = nil)
}

/// A request as the server received it; a class, as everything that answers it holds it.
public final class ServerRequest: Sendable {
    /// Method, target and header fields.
    public let head: RequestHead
    /// The body, as ``HTTPResponder/bodyPlan(for:)`` asked.
    public let body: RequestBody
    /// Numeric IP address of the peer of the socket, for example `127.0.0.1` or `::1`.
    public let remoteAddress: String

    /// Puts a request together.
    public init(head: RequestHead, body: RequestBody = .collected([]), remoteAddress: String = "127.0.0.1") {
        self.head = head
        self.body = body
        self.remoteAddress = remoteAddress
    }
}

/// An answer.
public struct ServerResponse: Sendable {
    /// Status and header fields.
    public var head: ResponseHead
    /// What follows the head.
    public var body: ResponseBody

    /// Puts an answer together.
    public init(head: ResponseHead, body: ResponseBody = .bytes([])) {
        self.head = head
        self.body = body
    }
}

/// Why the server itself refuses a request.
public enum ServerFailure: Error, Sendable, Equatable {
    /// 400: the bytes are not one unambiguous HTTP/1.1 request; the text says why, for the client. The connection closes.
    case badRequest(String)
    /// 408: the request did not arrive in time.
    case requestTimeout
    /// 413: the body is larger than its route takes.
    case contentTooLarge(maxBytes: Int64)
    /// 414: the request target is too long.
    case uriTooLong
    /// 417: an `Expect` other than `100-continue`.
    case expectationFailed
    /// 431: the header section is too large.
    case headerFieldsTooLarge
    /// 503: too many connections or requests, or the answer's deadline has passed. `retryAfter` is in seconds.
    case unavailable(retryAfter: Int)

    /// The status of the answer.
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
