public import HTTPTypes

/// The head of a request.
public struct RequestHead: Sendable {
    /// The method, of any name.
    public var method: HTTPRequest.Method
    /// The request target as sent, undecoded, query included.
    public var target: String
    /// The header fields, `Host` among them.
    public var headerFields: HeaderFields

    /// Puts a head together of fields that have the host among them.
    public init(method: HTTPRequest.Method, target: String, headerFields: HeaderFields = HeaderFields()) {
        self.method = method
        self.target = target
        self.headerFields = headerFields
    }

    /// Host and port as the client named them, empty where it did not.
    public var authority: String { HTTPField.Name("Host").flatMap { headerFields[$0] } ?? "" }
}

/// The head of an answer.
public struct ResponseHead: Sendable {
    /// The status; the server writes its own reason phrase.
    public var status: HTTPResponse.Status
    /// The header fields; `Content-Length`, `Connection` and `Date` are the server's to write.
    public var headerFields: HeaderFields

    /// Puts a head together.
    public init(status: HTTPResponse.Status, headerFields: HeaderFields = HeaderFields()) {
        self.status = status
        self.headerFields = headerFields
    }
}
