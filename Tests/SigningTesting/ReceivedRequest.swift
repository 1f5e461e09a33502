public import Signing

/// A request as a store receives it. Nothing is decoded.
public struct ReceivedRequest: Sendable, Hashable {
    /// Method.
    public var method: String
    /// Request target: percent-encoded path, and the query after `?` if there is one.
    public var target: String
    /// Header lines in the order of arrival, including `host`.
    public var headers: [NamedValue]
    /// The bucket that the host names, if the path does not name it.
    public var hostBucket: String?

    /// Puts a request together.
    public init(method: String, target: String, headers: [NamedValue], hostBucket: String? = nil) {
        self.method = method
        self.target = target
        self.headers = headers
        self.hostBucket = hostBucket
    }

    /// Values by name in lower case. Lines with the same name are joined by commas.
    var joinedHeaders: [String: String] {
        var values: [String: String] = [:]
        for header in headers {
            let name = header.name.lowercased()
            values[name] = values[name].map { "\($0),\(header.value)" } ?? header.value
        }
        return values
    }
}

/// The content of a verified request.
public struct VerifiedRequest: Sendable, Hashable {
    /// The access key that signed it.
    public let accessKeyID: String
    /// The path, decoded but not normalised.
    public let path: [UInt8]
    /// The parameters of the query except those of the signature, decoded, in the order of arrival.
    public let query: [NamedValue]
    /// Names, in lower case, of the headers that the signature binds.
    public let signedHeaders: [String]
    /// First instant at which the signature is no longer valid.
    public let expiresAt: SigningInstant
}
