/// One HTTP request and its answer, on a connection of its own. ``HTTPTransfers`` performs it.
///
/// It uses nothing from the environment or from other requests: no proxy, cookies, cache, `.netrc` or kept connections.
/// Redirects are not followed. Certificates are verified against the system's.
public struct HTTPTransfer: Sendable {
    /// The method, and the body that goes with it.
    public enum Method: Sendable, Equatable {
        /// GET.
        case get
        /// HEAD: the answer has no body.
        case head
        /// POST; the type of the body is among the headers.
        case post(body: [UInt8])
        /// PUT; the type of the body is among the headers.
        case put(body: [UInt8])
        /// OPTIONS, as browsers ask before they send another request.
        case options
        /// DELETE.
        case delete
    }

    /// A header field in addition to those of every request.
    public struct Field: Sendable, Equatable {
        /// A token.
        public var name: String
        /// The value, without line breaks.
        public var value: String

        /// Pairs a name with a value.
        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// An answer, whatever its status.
    public struct Answer: Sendable {
        /// The status.
        public let status: Int
        /// The length that the head states, if there is one.
        public let contentLength: Int64?
        /// The body; empty for ``Method/head``.
        public let body: [UInt8]
        /// The fields of the head, in order.
        public let fields: [Field]

        /// The value of a field that occurs exactly once. Names compare regardless of case.
        public func field(_ name: String) -> String? {
            let matches = fields.filter { $0.name.lowercased() == name.lowercased() }
            return matches.count == 1 ? matches.first?.value : nil
        }
    }

    /// Why there is no answer.
    public enum Failure: Error, Equatable {
        /// Every address of the host was refused.
        case addressRefused
        /// The body is longer than allowed, or the head is longer than 16 KiB.
        case tooLarge
        /// The whole answer did not arrive in time.
        case timedOut
        /// A header contains a line break.
        case malformedHeader
        /// The task was cancelled.
        case cancelled
        /// Too many transfers wait for the same already.
        case busy
        /// The name has no address.
        case nameNotFound
        /// No address accepted the connection.
        case notConnected
        /// TLS with the other side failed.
        case tls
        /// The other side speaks TLS, and its certificate is not trusted or not valid for the name.
        case notTrusted
        /// Any other error, with libcurl's number.
        case other(code: UInt32)
    }

    /// Decides whether a connection to an address may be opened, just before it is opened. The argument is the address:
    /// 4 or 16 bytes in network order.
    public typealias AddressCheck = @Sendable (_ address: [UInt8]) -> Bool

    /// Where a request goes.
    public struct Origin: Sendable, Hashable {
        /// Whether it is `https` rather than `http`.
        public let isSecure: Bool
        /// A name, an IPv4 address, or an IPv6 address in brackets.
        public let host: String
        /// The port.
        public let port: Int

        /// Names an origin.
        public init(isSecure: Bool, host: String, port: Int) {
            self.isSecure = isSecure
            self.host = host
            self.port = port
        }

        /// The name by which addresses are looked up.
        var name: String { host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host }
    }

    let method: Method
    let url: String
    let origin: Origin
    let fields: [Field]
    let maxBytes: Int
    let timeout: Duration
    let honoursCancellation: Bool
    let permits: AddressCheck

    /// Describes a request.
    ///
    /// - Parameters:
    ///   - method: Method, with the body.
    ///   - url: An absolute `http` or `https` URL without user and password.
    ///   - origin: What the URL begins with.
    ///   - fields: Further header fields.
    ///   - maxBytes: Maximum length of the answer's body.
    ///   - timeout: Time for the whole transfer, from the call to the last byte.
    ///   - honoursCancellation: Whether the transfer ends when its task is cancelled. Otherwise the task waits for the
    ///     answer or the timeout.
    ///   - permits: Decides about each address of the name.
    public init(
        _ method: Method, _ url: String, at origin: Origin, fields: [Field] = [], maxBytes: Int, timeout: Duration,
        honoursCancellation: Bool = true, permits: @escaping AddressCheck
    ) {
        self.method = method
        self.url = url
        self.origin = origin
        self.fields = fields
        self.maxBytes = maxBytes
        self.timeout = timeout
        self.honoursCancellation = honoursCancellation
        self.permits = permits
    }
}
