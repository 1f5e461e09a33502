/// A response.
public struct ServerResponse: Sendable {
    /// Status and header fields.
    public var head: ResponseHead
    /// The body after the head.
    public var body: ResponseBody

    /// Creates a response.
    public init(head: ResponseHead, body: ResponseBody = .bytes([])) {
        self.head = head
        self.body = body
    }
}
