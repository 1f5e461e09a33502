/// A request whose bytes are those given: no header is added, dropped, folded or put in another order.
public struct RawRequest: Sendable {
    /// For example `PUT`.
    public var method: String
    /// The request target as sent, for example `/a%20b?x=1`.
    public var target: String
    /// Name and value of every header field, `Host` and `Content-Length` included.
    public var headers: [(name: String, value: String)]
    /// What follows the head.
    public var body: [UInt8]

    /// Puts a request together.
    public init(_ method: String, _ target: String, headers: [(name: String, value: String)], body: [UInt8] = []) {
        self.method = method
        self.target = target
        self.headers = headers
        self.body = body
    }

    /// The bytes on the wire.
    public var bytes: [UInt8] {
        var head = "\(method) \(target) HTTP/1.1\r\n"
        for field in headers { head += "\(field.name): \(field.value)\r\n" }
        return Array((head + "\r\n").utf8) + body
    }

    /// Sends the request over a connection of its own to the port on this machine, and reads the answer.
    public func answer(fromPort port: UInt16) async throws -> RawResponse {
        let request = self
        return try await withConnection(to: port) { connection in
            // A server may refuse before it has read the whole body; its answer is there all the same.
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

/// The parts of an absolute `http` URL, as they stand in its text.
public struct RawURL: Sendable, Equatable {
    /// Host and port, what a client sends as `Host`.
    public let authority: String
    /// The port to connect to.
    public let port: UInt16
    /// Path and query.
    public let target: String

    /// Cuts a URL into its parts and changes no byte of them.
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
