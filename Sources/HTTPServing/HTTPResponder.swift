public import HTTPTypes

/// What an HTTP server drives: one asynchronous function from request to response, and two questions it asks on the
/// way.
///
/// It needs no socket, so every route runs in a test without one.
///
/// A server may call all three inside of a callback of its library, on a thread that serves many connections. Whatever
/// runs there holds all of them up, so the requirements below say what each may do.
public protocol HTTPResponder: AnyObject, Sendable {
    /// Looks at the head of a request. The server calls this once for each request, before it reads any byte of the
    /// body.
    ///
    /// Runs inside of the library's callback for the head. It must compute its answer from the head and from what the
    /// responder holds in memory: no input or output, no waiting for a task, no lock that its holder keeps while it
    /// waits.
    func begin(_ head: RequestHead) -> RequestPlan

    /// Answers a request. Never throws: an error is a response.
    ///
    /// The task starts inside of the library's callback for the last byte that was awaited, and runs there until it
    /// suspends for the first time. It must not block: it waits by suspending only. While it is suspended the thread
    /// serves others, and it may go on inside of the callback for another request.
    func respond(to request: ServerRequest) async -> ServerResponse

    /// The answer to a request that never reached ``respond(to:)``, or that was given up, in the form that the service
    /// documents.
    ///
    /// Runs on any thread of the server, inside of a callback or under the lock of a connection. The rules of
    /// ``begin(_:)`` hold, but it may count and log what does not wait. It must not call the server.
    func response(to failure: ServerFailure) -> ServerResponse
}

/// What a responder makes of the head of a request.
public struct RequestPlan: Sendable {
    /// How the server reads the body.
    public var body: BodyPlan
    /// What the responder found out, for itself: the server hands it back in ``ServerRequest/context``.
    public var context: (any AnyObject & Sendable)?

    /// Puts a plan together.
    public init(_ body: BodyPlan, context: (any AnyObject & Sendable)? = nil) {
        self.body = body
        self.context = context
    }
}

/// How the server reads a request's body.
public enum BodyPlan: Sendable, Equatable {
    /// To be held whole; a longer body is answered with 413. The server gathers a short one first. A long one is handed
    /// over as it arrives, so that nobody has to hold it for a caller who is not known yet; it has to arrive in the
    /// same time.
    case collect(maxBytes: Int)
    /// Handed over as it arrives, with back-pressure; a body that grows past the limit ends the stream with an error.
    /// An answer may have a deadline of its own, in place of the server's.
    case stream(maxBytes: Int64, answerDeadline: Duration? = nil)
}

/// A request as the server received it; a class, as everything that answers it holds it.
public final class ServerRequest: Sendable {
    /// Method, target and header fields.
    public let head: RequestHead
    /// The body, as ``HTTPResponder/begin(_:)`` asked.
    public let body: RequestBody
    /// Numeric IP address of the peer of the socket, for example `127.0.0.1` or `::1`.
    public let remoteAddress: String
    /// The context of the request's ``RequestPlan``; `nil` where nobody called ``HTTPResponder/begin(_:)`` before.
    public let context: (any AnyObject & Sendable)?

    /// Puts a request together.
    public init(
        head: RequestHead, body: RequestBody = .collected([]), remoteAddress: String = "127.0.0.1",
        context: (any AnyObject & Sendable)? = nil
    ) {
        self.head = head
        self.body = body
        self.remoteAddress = remoteAddress
        self.context = context
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
    /// 400: the bytes are not one unambiguous HTTP/1.1 request; the text says why, for the client. The connection
    /// closes.
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
