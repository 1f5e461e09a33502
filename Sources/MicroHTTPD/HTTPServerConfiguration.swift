/// Address and limits of an HTTP server.
public struct HTTPServerConfiguration: Sendable {
    /// A certificate chain and its private key, both PEM files, read when the server is made and when it is told to
    /// renew them.
    public struct TLS: Sendable, Equatable {
        /// Path of the certificate chain, the server's certificate first.
        public var certificateFile: String
        /// Path of the unencrypted private key.
        public var keyFile: String

        /// Names the two files.
        public init(certificateFile: String, keyFile: String) {
            self.certificateFile = certificateFile
            self.keyFile = keyFile
        }
    }

    /// Numeric IPv4 or IPv6 address; `::` accepts IPv4 clients too. Default `127.0.0.1`.
    public var address: String
    /// TCP port; 0 to let the system choose. Default 0.
    public var port: UInt16
    /// Certificate and key for HTTPS. Default `nil`, for plain HTTP.
    public var tls: TLS?
    /// Number of threads that serve sockets, at least 1. Default 2.
    public var threads = 2
    /// Maximum number of open connections. Further ones are answered with 503 and closed. Default 10,000.
    public var maxConnections = 10_000
    /// Maximum number of open connections of one IPv4 address or one IPv6 /64 network. Further ones are answered as
    /// above. Default 1,024.
    public var maxConnectionsPerAddress = 1_024
    /// File descriptors that are reserved for the rest of the process, for example for a database. Clients that would
    /// need them are answered as above. Default 128.
    public var reservedDescriptors = 128
    /// Maximum number of requests that are answered at the same time. Further ones get 503, unless their plan takes no
    /// place. Default 4,096.
    public var maxRequestsInFlight = 4_096
    /// Maximum length of the request target in bytes. A longer one is answered with 414. Default 8 KiB.
    public var maxTargetBytes = 8 * 1_024
    /// Maximum number of bytes that the head of a request takes: its text, cookies once more, and 64 for each field and
    /// cookie. Larger ones are answered with 431. Default 8 KiB.
    ///
    /// An open connection holds this much and 1.25 KiB more, also while it is idle. The head of an answer takes what
    /// the request leaves of it. An answer with a longer head goes directly to the socket, and the connection ends.
    /// Under TLS, or if the answer has more than 32 KiB, a 431 takes its place.
    public var maxHeadBytes = 8 * 1_024
    /// Memory of a connection in bytes: the longest head of a request, and what an answer to it needs.
    var connectionBytes: Int { maxHeadBytes + 1_280 }
    /// Bytes of a body that are collected in advance. A longer body is handed over as it arrives. If every allowed
    /// connection holds this much, there is still memory for bodies. Default 16 KiB.
    var maxGatheredBodyBytes = 16 * 1_024
    /// Maximum number of requested bytes that wait unread.
    static let maxUnreadBodyBytes = 64 * 1_024
    /// The memory for bodies that are held whole. Servers can share it. Default 256 MiB.
    public var bodyMemory = BodyMemory()
    /// Maximum number of bytes that are read and discarded, so that a client sees the refusal of a body that it is
    /// still sending. Default 1 MiB.
    var maxDiscardedBytes = 1_024 * 1_024
    /// The same under TLS, where an answer cannot precede the end of the body. Default 64 MiB.
    var maxDiscardedBytesUnderTLS = 64 * 1_024 * 1_024
    /// How long a connection may be idle: between requests, within a streamed body, or while it reads an answer. In the
    /// last case it may take up to 3 s more. Default 30 s.
    public var idleTimeout: Duration = .seconds(30)
    /// How long the head of a request and a body that is held whole may take to arrive. After that the answer is 408.
    /// Default 30 s.
    public var requestTimeout: Duration = .seconds(30)
    /// How long making an answer may take. After that the answer is 503, and the task is cancelled. The time restarts
    /// with every piece of a streamed body in either direction. Default 15 s.
    public var answerDeadline: Duration = .seconds(15)
    /// How long running answers may take after a graceful shutdown has begun. Servers can share it. Default 20 s.
    public var drain = DrainPeriod(.seconds(20))
    /// Value of `Retry-After` in a 503, in seconds. Default 1.
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
    /// The address is not a numeric IPv4 or IPv6 address.
    case invalidAddress(String)
    /// The system refuses the address and port; `reason` is the system's text.
    case cannotListen(address: String, port: UInt16, reason: String)
    /// A socket that the process was given is not one to accept clients from.
    case unusableSocket(reason: String)
    /// A certificate or key file cannot be read; `reason` is the system's text.
    case unreadableFile(path: String, reason: String)
    /// A certificate or key file does not hold what it should; `reason` continues a sentence that begins with the path.
    case unusableFile(path: String, reason: String)
    /// The process may open fewer files than it needs to serve clients.
    case tooFewDescriptors(limit: Int, needed: Int)
    /// This build of libmicrohttpd has no HTTPS.
    case tlsUnsupported
    /// libmicrohttpd does not start; the log has its reason, at level debug.
    case cannotStart

    /// One sentence for an operator.
    public var description: String {
        switch self {
        case .invalidAddress(let address): "'\(address)' is not a numeric IP address."
        case .cannotListen(let address, let port, let reason): "Cannot listen on \(address) port \(port): \(reason)."
        case .unusableSocket(let reason): "The socket that was passed to the process \(reason)."
        case .unreadableFile(let path, let reason): "Cannot read \(path): \(reason)."
        case .unusableFile(let path, let reason): "\(path) \(reason)."
        case .tooFewDescriptors(let limit, let needed):
            "The process may open \(limit) files, and needs \(needed) to serve clients."
        case .tlsUnsupported: "This libmicrohttpd was built without HTTPS."
        case .cannotStart: "The HTTP server does not start."
        }
    }
}
