/// Where an HTTP server listens, and what it lets a client take.
public struct HTTPServerConfiguration: Sendable {
    /// A certificate chain and its private key, both PEM files, read once when the server is made.
    public struct TLS: Sendable, Equatable {
        /// Path of the certificate, followed in the same file by those that signed it.
        public var certificateFile: String
        /// Path of the unencrypted private key.
        public var keyFile: String

        /// Names the two files.
        public init(certificateFile: String, keyFile: String) {
            self.certificateFile = certificateFile
            self.keyFile = keyFile
        }
    }

    /// Numeric IPv4 or IPv6 address; `::` takes IPv4 clients too. Default `127.0.0.1`.
    public var address: String
    /// TCP port, 0 for one that the system picks. Default 0.
    public var port: UInt16
    /// Speaks HTTPS where set. Default plain HTTP.
    public var tls: TLS?
    /// Threads that read and write sockets, at least 1. Default 2.
    public var threads = 2
    /// Open connections; further ones are answered with 503 and closed. Default 10,000.
    public var maxConnections = 10_000
    /// Open connections of one IPv4 address or one IPv6 /64 network; further ones are answered as above. Default 1,024.
    public var maxConnectionsPerAddress = 1_024
    /// File descriptors that stay free for the rest of the process, for example to reach a database; clients that
    /// would take them are answered as above. Default 128.
    public var reservedDescriptors = 128
    /// Requests whose answer is being made; further ones are answered with 503. Default 4,096.
    public var maxRequestsInFlight = 4_096
    /// Bytes of the request target; a longer one is answered with 414. Default 8 KiB.
    public var maxTargetBytes = 8 * 1_024
    /// Bytes of request line and header section; a longer one is answered with 431. Default 12 KiB.
    ///
    /// The memory of a connection is 4 KiB more, and never grows. It is cleared
    /// after each request, which is felt in the rate.
    public var maxHeadBytes = 12 * 1_024
    /// Header fields of a request; more are answered with 431. Default 100.
    public var maxHeaderFields = 100
    /// Bytes of a body that are gathered before anybody asks for them; a longer one is handed over as it arrives. With
    /// as many on each of the connections that there may be, there is still memory for bodies. Default 16 KiB.
    public var maxGatheredBodyBytes = 16 * 1_024
    /// Bytes that were asked for and may wait unread. Default 64 KiB.
    public var maxUnreadBodyBytes = 64 * 1_024
    /// What bodies that are held whole may take; servers can share one. Default 256 MiB.
    public var bodyMemory = BodyMemory()
    /// Bytes that are read and thrown away so that a client sees the
    /// refusal of a body it is still sending. Default 1 MiB.
    public var maxDiscardedBytes = 1_024 * 1_024
    /// How long a connection may do nothing, between requests, in a streamed body or in taking an answer; for
    /// the last it may be up to 3 s more. Default 30 s.
    public var idleTimeout: Duration = .seconds(30)
    /// How long the head of a request and a body that is held whole may take to arrive; 408 after that. Default 30 s.
    public var requestTimeout: Duration = .seconds(30)
    /// How long making an answer may take; then 503, and its task is cancelled. It starts anew with every
    /// piece of a streamed body, in or out. Default 15 s.
    public var answerDeadline: Duration = .seconds(15)
    /// How long answers under way may take to finish after a graceful shutdown began. Default 20 s.
    public var drainDeadline: Duration = .seconds(20)
    /// Seconds in the `Retry-After` of a 503. Default 1.
    public var retryAfter = 1

    /// Listens on an address and port with the default limits.
    public init(address: String = "127.0.0.1", port: UInt16 = 0, tls: TLS? = nil) {
        self.address = address
        self.port = port
        self.tls = tls
    }
}

/// Why a server cannot start.
public enum HTTPServerError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The address is no numeric IPv4 or IPv6 address.
    case invalidAddress(String)
    /// The system refuses the address and port; `reason` is its text.
    case cannotListen(address: String, port: UInt16, reason: String)
    /// A certificate or key file cannot be read; `reason` is the system's text.
    case unreadableFile(path: String, reason: String)
    /// This build of libmicrohttpd has no HTTPS.
    case tlsUnsupported
    /// libmicrohttpd does not start; its reason is in the log.
    case cannotStart

    /// One sentence for an operator.
    public var description: String {
        switch self {
        case .invalidAddress(let address): "'\(address)' is not a numeric IP address."
        case .cannotListen(let address, let port, let reason): "Cannot listen on \(address) port \(port): \(reason)."
        case .unreadableFile(let path, let reason): "Cannot read \(path): \(reason)."
        case .tlsUnsupported: "This libmicrohttpd was built without HTTPS."
        case .cannotStart: "The HTTP server does not start; with TLS, certificate and key may not fit together."
        }
    }
}
