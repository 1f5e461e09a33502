/// A request that is sent exactly as given: no header is added, dropped, folded or reordered.
public struct RawRequest: Sendable {
    /// The method, for example `PUT`.
    public var method: String
    /// The request target as sent, for example `/a%20b?x=1`.
    public var target: String
    /// Name and value of every header field, including `Host` and `Content-Length`.
    public var headers: [(name: String, value: String)]
    /// The bytes after the head.
    public var body: [UInt8]

    /// Puts a request together.
    public init(_ method: String, _ target: String, headers: [(name: String, value: String)], body: [UInt8] = []) {
        self.method = method
        self.target = target
        self.headers = headers
        self.body = body
    }

    /// The bytes as sent.
    public var bytes: [UInt8] {
        var head = "\(method) \(target) HTTP/1.1\r\n"
        for field in headers { head += "\(field.name): \(field.value)\r\n" }
        return Array((head + "\r\n").utf8) + body
    }

    /// Sends the request over its own connection to the port on this machine, and reads the answer.
    public func answer(fromPort port: UInt16) async throws -> RawResponse {
        let request = self
        return try await withConnection(to: port) { connection in
            // A server may refuse before it has read the whole body. Its answer arrives all the same.
            let sending = Result { () throws(RawHTTPError) in try connection.send(request.bytes) }
            do {
                return try connection.response(toHead: request.method == "HEAD")
            } catch {
                try sending.get()
                throw error
            }
        }
    }
}

/// The parts of an absolute `http` URL, exactly as written.
public struct RawURL: Sendable, Equatable {
    /// Host and port, as a client sends them in `Host`.
    public let authority: String
    /// The port to connect to.
    public let port: UInt16
    /// Path and query.
    public let target: String

    /// Splits a URL into its parts without changing a byte.
    public init(_ text: String) throws(RawHTTPError) {
        let scheme = "http://"
        guard text.hasPrefix(scheme) else { throw .notAURL(text) }
        let rest = text.dropFirst(scheme.count)
        let end = rest.firstIndex(of: "/") ?? rest.endIndex
        let authority = rest[..<end]
        guard let colon = authority.lastIndex(of: ":"), let port = UInt16(authority[colon...].dropFirst()) else {
            throw .notAURL(text)
        }
        self.authority = String(authority)
        self.port = port
        target = end == rest.endIndex ? "/" : String(rest[end...])
    }
}
