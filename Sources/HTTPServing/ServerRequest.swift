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
