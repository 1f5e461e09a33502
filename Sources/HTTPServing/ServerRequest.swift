import Synchronization

/// A request as the server received it. It is a class, because every part that answers it holds a reference.
public final class ServerRequest: Sendable {
    /// Method, target and header fields.
    public let head: RequestHead
    /// The body, as requested by ``HTTPResponder/begin(_:)``.
    public let body: RequestBody
    /// Numeric IP address of the socket's peer, for example `127.0.0.1` or `::1`.
    public let remoteAddress: String
    /// The context of the request's ``RequestPlan``; `nil` if ``HTTPResponder/begin(_:)`` was not called.
    public let context: (any AnyObject & Sendable)?
    private let abandoned = Atomic(false)

    /// Whether the client has disconnected before its answer was ready, so that nobody gets that. The task that answers
    /// is cancelled then. `false` if it is cancelled for another reason: a deadline, or the end of the server.
    public var isAbandoned: Bool { abandoned.load(ordering: .acquiring) }

    /// Notes that the client has disconnected. The server calls this before it cancels the task.
    public func abandon() {
        abandoned.store(true, ordering: .releasing)
    }

    /// Creates a request.
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
