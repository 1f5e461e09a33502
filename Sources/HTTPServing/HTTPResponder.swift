/// Answers the requests of an HTTP server: one asynchronous function from request to response, and others that the
/// server calls on the way.
///
/// It needs no socket, so tests can run every route without one.
///
/// A server may call all these functions inside a callback of its library, on a thread that serves many connections.
/// Slow code there delays all these connections, so each requirement states what it may do.
public protocol HTTPResponder: AnyObject, Sendable {
    /// Inspects the head of a request. The server calls this once per request, before it reads any byte of the body.
    ///
    /// It runs inside the library's callback for the head. It must compute its result from the head and from what the
    /// responder holds in memory. It must not do input or output, wait for a task, or take a lock whose holder may
    /// wait.
    func begin(_ head: RequestHead) -> RequestPlan

    /// Answers a request. It never throws: an error is a response.
    ///
    /// The task starts inside the library's callback for the last awaited byte, and runs there until it first suspends.
    /// It must not block; it may wait only by suspending. While it is suspended, the thread serves other connections,
    /// and the task may resume inside the callback for another request.
    func respond(to request: ServerRequest) async -> ServerResponse

    /// Returns the response to a request whose head the server cannot read, in the form that the service documents.
    ///
    /// It runs on any thread of the server, inside a callback or under the lock of a connection. The rules of
    /// ``begin(_:)`` apply, except that it may count and log if that does not wait. It must not call the server.
    func response(to failure: ServerFailure) -> ServerResponse

    /// Returns the response to a request whose head the server refuses, but whose target it has read. Without an
    /// implementation, it is ``response(to:)``, whose rules apply.
    func response(to failure: ServerFailure, of head: RefusedHead) -> ServerResponse

    /// Returns the response to a request that the server refuses after ``begin(_:)``, or whose answer it gives up.
    /// Without an implementation, it is ``response(to:)``, whose rules apply.
    func response(to failure: ServerFailure, of request: RefusedRequest) -> ServerResponse
}

extension HTTPResponder {
    /// Returns ``response(to:)``.
    public func response(to failure: ServerFailure, of head: RefusedHead) -> ServerResponse {
        response(to: failure)
    }

    /// Returns ``response(to:)``.
    public func response(to failure: ServerFailure, of request: RefusedRequest) -> ServerResponse {
        response(to: failure)
    }
}

/// What the server could read of a head that it refuses.
public struct RefusedHead: Sendable, Equatable {
    /// The request target as sent, including the query.
    public var target: String
    /// The value of `Origin`; `nil` if the part that the server has read does not have that field.
    public var origin: String?

    /// Describes a head.
    public init(target: String, origin: String? = nil) {
        self.target = target
        self.origin = origin
    }
}

/// A request that the server itself answers, though its head has arrived.
public struct RefusedRequest: Sendable {
    /// Method, target and header fields.
    public var head: RequestHead
    /// Numeric IP address of the socket's peer.
    public var remoteAddress: String
    /// The context of the request's ``RequestPlan``.
    public var context: (any AnyObject & Sendable)?
    /// Whether the responder counts the request already: ``HTTPResponder/respond(to:)`` was called for it, or another
    /// response was made by ``HTTPResponder/response(to:of:)``.
    public var isCounted: Bool

    /// Describes a request.
    public init(
        head: RequestHead, remoteAddress: String = "127.0.0.1", context: (any AnyObject & Sendable)? = nil,
        isCounted: Bool = false
    ) {
        self.head = head
        self.remoteAddress = remoteAddress
        self.context = context
        self.isCounted = isCounted
    }
}

/// What a responder decides from the head of a request.
public struct RequestPlan: Sendable {
    /// How the server reads the body.
    public var body: BodyPlan
    /// Whether the request takes a place among those that are answered at the same time. One that takes none is
    /// answered however many there are; only the limit of connections bounds such requests.
    public var takesPlace: Bool
    /// Data of the responder itself. The server returns it in ``ServerRequest/context``.
    public var context: (any AnyObject & Sendable)?

    /// Creates a plan.
    public init(_ body: BodyPlan, takesPlace: Bool = true, context: (any AnyObject & Sendable)? = nil) {
        self.body = body
        self.takesPlace = takesPlace
        self.context = context
    }
}

/// How the server reads a request's body.
public enum BodyPlan: Sendable, Equatable {
    /// The responder needs the whole body; a longer one is answered with 413. The server collects a short body first.
    /// It passes a long body on as it arrives, so that nothing holds it for a caller who is not authenticated yet. The
    /// time limit for its arrival is the same. The answer may have a later deadline than the server's.
    case collect(maxBytes: Int, answerDeadline: Duration? = nil)
    /// The server passes the body on as it arrives, with back-pressure. A body above the limit ends the stream with an
    /// error. The answer may have its own deadline instead of the server's.
    case stream(maxBytes: Int64, answerDeadline: Duration? = nil)
}
