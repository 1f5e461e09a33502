import Foundation

/// A request and its answer, as they were sent.
public struct Exchange: Sendable {
    /// The request's method.
    public var method: String
    /// The request's target, with its query.
    public var target: String
    /// The request's body; empty where there was none.
    public var sent: [UInt8]
    /// The media type of the request's body; `nil` where there was none.
    public var sentType: String?
    /// The answer's status.
    public var status: Int
    /// The answer's header fields.
    public var headers: [(name: String, value: String)]
    /// The answer's body.
    public var body: [UInt8]

    /// Puts an exchange together.
    public init(
        _ method: String, _ target: String, sent: [UInt8] = [], sentType: String? = nil, status: Int,
        headers: [(name: String, value: String)], body: [UInt8]
    ) {
        self.method = method
        self.target = target
        self.sent = sent
        self.sentType = sentType
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// Value of the first header field with this name, whatever its case.
    subscript(name: String) -> String? { headers.first { $0.name.lowercased() == name.lowercased() }?.value }

    /// Media type of the answer's body, without parameters.
    var type: String? { self["Content-Type"].map(Self.essence) }

    /// A media type without its parameters.
    static func essence(_ type: String) -> String {
        (type.split(separator: ";").first ?? "").trimmingCharacters(in: .whitespaces).lowercased()
    }
}
