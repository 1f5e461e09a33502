public import LibCurl

/// A gateway that a user chose, and the key that goes with each request to it.
///
/// What is sent and what an answer means are the callers' business.
public struct RemoteGateway: Sendable {
    /// An answer, whatever its status.
    public struct Answer: Sendable {
        /// The head.
        public let head: StreamedTransfer.Head
        /// The body, or what was kept of it.
        public let body: [UInt8]

        /// Whether the gateway did what was asked for.
        public var isSuccess: Bool { 200..<300 ~= head.status }
    }

    /// The code of a refusal that is not one of a gateway, and so has none.
    public static let unknownAnswerCode = "UnknownAnswer"

    /// The largest body that is kept. No page of a list is longer.
    private static let maxBytes = 64 << 20

    /// The gateway's origin, followed by a path if a proxy serves the gateway below one.
    public let origin: String
    private let sendsKeyInClear: Bool
    private let key: String
    private let timeout: Duration

    /// Takes a gateway's URL and a key.
    ///
    /// - Parameters:
    ///   - url: The gateway's origin.
    ///   - key: The user's bearer token: an API key or a JWT.
    ///   - timeout: Time without any progress after which a request has failed.
    /// - Throws: ``TransportFailure/url(_:)``, ``TransportFailure/key(_:)``.
    public init(url: String, key: String, timeout: Duration) throws(TransportFailure) {
        guard let origin = ServerOrigin(url) else {
            throw .url("'\(url)' is not the URL of a gateway. An example: https://gateway.example.")
        }
        guard !key.isEmpty, key.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw .key("The key is not a valid bearer token.")
        }
        self.origin = origin.text
        sendsKeyInClear = origin.isInClear
        self.key = key
        self.timeout = timeout
    }

    /// What a user should know before the first request; `nil` if there is nothing to warn about.
    public var warning: String? { sendsKeyInClear ? "the key is sent unencrypted to \(origin)" : nil }

    /// What is said about a refusal that is not one of a gateway.
    public var unknownAnswerText: String { "\(origin) does not answer as a gateway does. Is it the gateway's URL?" }

    /// Sends a request with the key, and waits for the whole answer. The call blocks its thread.
    ///
    /// - Parameters:
    ///   - method: For example `GET`.
    ///   - target: The path, and the query.
    ///   - fields: Further header fields.
    ///   - upload: The body.
    ///   - take: Takes the next bytes of a successful answer, which are not kept then; `false` ends the transfer.
    /// - Throws: ``TransportFailure``, but no refusal.
    public func send(
        _ method: String, _ target: String, fields: [HTTPTransfer.Field], upload: StreamedTransfer.Upload = .none,
        taking take: (@Sendable ([UInt8]) -> Bool)? = nil
    ) throws(TransportFailure) -> Answer {
        let transfer = StreamedTransfer(
            method, origin + target, fields: [HTTPTransfer.Field("Authorization", "Bearer \(key)")] + fields,
            upload: upload, connectTimeout: min(timeout, .seconds(30)), idleTimeout: timeout)
        let kept = ReceivedBody(atMost: Self.maxBytes)
        let head: StreamedTransfer.Head
        do throws(StreamedTransfer.Failure) {
            head = try transfer.perform { begun, bytes in
                if let take, 200..<300 ~= begun.status { return take(bytes) }
                return kept.append(bytes)
            }
        } catch {
            if error == .givenUp, kept.isTooLong { throw .unanswered("The answer of \(origin) is too long.") }
            throw TransportFailure(error, at: origin)
        }
        return Answer(head: head, body: kept.bytes)
    }
}
