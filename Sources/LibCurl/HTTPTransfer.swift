/// One HTTP request and its answer, on a connection of its own; ``HTTPTransfers`` makes it.
///
/// Nothing is taken from the environment or from other requests: no proxy, cookies, cache, `.netrc` or kept
/// connections. Redirects are answers like others. Certificates are verified against the system's.
public struct HTTPTransfer: Sendable {
    /// What is asked for.
    public enum Method: Sendable, Equatable {
        /// The body too.
        case get
        /// The head alone.
        case head
        /// What the body asks for; the type of the body is among the headers.
        case post(body: [UInt8])
        /// That the body lies there; its type is among the headers.
        case put(body: [UInt8])
        /// What may be asked for, as browsers do before they ask.
        case options
        /// That what lies there goes.
        case delete
    }

    /// A header field that is sent besides those that every request has.
    public struct Field: Sendable, Equatable {
        /// A token.
        public var name: String
        /// Without line breaks.
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
        /// The length that the head states, if it does.
        public let contentLength: Int64?
        /// The body; empty for ``Method/head``.
        public let body: [UInt8]
        /// The fields of the head, in order.
        public let fields: [Field]

        /// The value of a field that stands there once; names compare without regard to case.
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
        /// There was no whole answer in time.
        case timedOut
        /// A header has a line break in it.
        case malformedHeader
        /// The task was cancelled.
        case cancelled
        /// Too many wait for the same already.
        case busy
        /// The name stands for no address.
        case nameNotFound
        /// No address took the connection.
        case notConnected
        /// There is no TLS with the other side, or its certificate is not one for the name.
        case tls
        /// libcurl's own number for anything else.
        case other(code: UInt32)
    }

    /// Answers whether a connection to an address may be opened, just before it is: its 4 or 16 bytes in network order.
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

        /// What addresses are looked up by.
        var name: String { host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host }
    }

    let method: Method
    let url: String
    let origin: Origin
    let fields: [Field]
    let maxBytes: Int
    let timeout: Duration
    let permits: AddressCheck

    /// Describes a request.
    ///
    /// - Parameters:
    ///   - method: What is asked for.
    ///   - url: An absolute `http` or `https` URL without user and password.
    ///   - origin: What the URL begins with.
    ///   - fields: Further header fields.
    ///   - maxBytes: Longest body that is taken.
    ///   - timeout: Time for all of it, from the call to the last byte.
    ///   - permits: Decides about each address that the name stands for.
    public init(
        _ method: Method, _ url: String, at origin: Origin, fields: [Field] = [], maxBytes: Int, timeout: Duration,
        permits: @escaping AddressCheck
    ) {
        self.method = method
        self.url = url
        self.origin = origin
        self.fields = fields
        self.maxBytes = maxBytes
        self.timeout = timeout
        self.permits = permits
    }
}
