public import HTTPTypes

/// The head of a request.
public struct RequestHead: Sendable {
    /// The method; any name is possible.
    public var method: HTTPRequest.Method
    /// The request target as sent: not decoded, including the query.
    public var target: String
    /// The header fields, including `Host`.
    public var headerFields: HeaderFields

    /// Creates a head from fields that include the host.
    public init(method: HTTPRequest.Method, target: String, headerFields: HeaderFields = HeaderFields()) {
        self.method = method
        self.target = target
        self.headerFields = headerFields
    }

    /// Host and port as the client named them; empty if it did not.
    public var authority: String { HTTPField.Name("Host").flatMap { headerFields[$0] } ?? "" }
}

/// The head of a response.
public struct ResponseHead: Sendable {
    /// The status. The server writes its own reason phrase.
    public var status: HTTPResponse.Status
    /// The header fields. The server itself writes `Content-Length`, `Connection` and `Date`.
    public var headerFields: HeaderFields

    /// Creates a head.
    public init(status: HTTPResponse.Status, headerFields: HeaderFields = HeaderFields()) {
        self.status = status
        self.headerFields = headerFields
    }
}
