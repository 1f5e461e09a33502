/// The refusal of a request.
public struct Refusal: Error {
    /// Why the request is refused.
    let reason: Reason
    /// The error that the caller receives.
    public let error: GatewayError
    /// The grant that denied, or whose condition failed; `nil` if no single grant did.
    public let grant: Grant?
    /// The largest size that a grant allows, in bytes, among those whose first objection is the size; `nil` if there is
    /// none.
    private(set) var largestSize: Int64?

    /// Why a request is refused. Callers learn the error alone.
    enum Reason: Sendable, Equatable {
        /// The bucket does not exist.
        case noSuchBucket
        /// The bucket does not open the protocol of the request. No grant was asked.
        case protocolClosed(ClientProtocol)
        /// The caller's ticket does not cover the request. No grant was asked.
        case outsideTicket
        /// No grant covers the request.
        case noGrant
        /// A grant denies the request.
        case denied
        /// Grants cover the request, but not as it is: the error says what stands against it.
        case unmet
        /// The gateway cannot serve the request now, whatever the grants say.
        case failed
    }

    private init(_ reason: Reason, _ error: GatewayError, _ grant: Grant? = nil) {
        self.reason = reason
        self.error = error
        self.grant = grant
    }
}

extension Refusal {
    /// Returns the refusal with the largest size that a grant allows.
    func allowing(upTo size: Int64?) -> Refusal {
        var refusal = self
        refusal.largestSize = size
        return refusal
    }

    /// The refusal of a request for a bucket that does not exist.
    static var noSuchBucket: Refusal { Refusal(.noSuchBucket, .accessDenied) }

    /// The refusal of a request by a protocol that the bucket does not open: the caller learns as little as of a bucket
    /// that does not exist.
    static func closed(_ clientProtocol: ClientProtocol) -> Refusal {
        Refusal(.protocolClosed(clientProtocol), .accessDenied)
    }

    /// The refusal of a request that the caller's ticket does not cover.
    static var outsideTicket: Refusal { Refusal(.outsideTicket, .accessDenied) }

    /// The refusal of a request that no grant covers.
    static var noGrant: Refusal { Refusal(.noGrant, .accessDenied) }

    /// The refusal of a request that a grant denies.
    static func denied(by grant: Grant) -> Refusal { Refusal(.denied, .accessDenied, grant) }

    /// The refusal of a request that does not meet a condition, or exceeds a limit.
    ///
    /// - Parameter grant: The grant that has the condition; `nil` if it is not one grant's.
    static func unmet(_ error: GatewayError, of grant: Grant? = nil) -> Refusal { Refusal(.unmet, error, grant) }

    /// The refusal of a request that the gateway cannot serve now.
    ///
    /// - Parameter grant: The grant that permits the request, if that is known.
    static func failed(_ error: GatewayError, of grant: Grant? = nil) -> Refusal { Refusal(.failed, error, grant) }
}

extension GatewayError {
    /// Returns the error for a storage credential that cannot sign. The caller can do nothing: an admin has to renew
    /// it, or to give this gateway the master key that seals it or the version that wrote it.
    static func unusableCredential(of bucket: Bucket) -> GatewayError {
        .unavailable(
            retryAfter: 60,
            cause: """
                a storage credential of bucket \(bucket.name) is gone, has ended or cannot be read, \
                or no master key here opens it
                """)
    }
}
