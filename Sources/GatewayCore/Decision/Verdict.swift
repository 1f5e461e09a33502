/// The result of a decision: of ``decide(_:for:under:sourceAddress:now:)`` and of the functions that decide about
/// temporary credentials, cookies and forms.
public enum Verdict<Permitted: Sendable>: Sendable {
    /// The request may be signed as the permit states.
    case permit(Permitted)
    /// The request is refused.
    indirect case refuse(Refusal)
}

/// The refusal of a request.
public struct Refusal: Sendable {
    /// The error that the caller receives.
    public var error: GatewayError
    /// The grant that denied, or whose condition failed; `nil` if no grant matched.
    public var grant: Grant?
    /// Whether the caller's ticket does not cover the request. No grant was asked then.
    var isOutsideTicket = false
    /// The protocol of the request, if the bucket does not open it. No grant was asked then.
    var closedProtocol: ClientProtocol?

    /// Creates a refusal.
    public init(_ error: GatewayError, grant: Grant? = nil) {
        self.error = error
        self.grant = grant
    }

    /// The refusal of a request by a protocol that the bucket does not open: the caller learns as little as of a bucket
    /// that does not exist.
    static func closed(_ clientProtocol: ClientProtocol) -> Refusal {
        var refusal = Refusal(.accessDenied)
        refusal.closedProtocol = clientProtocol
        return refusal
    }

    /// The refusal of a request that the caller's ticket does not cover.
    static var outsideTicket: Refusal {
        var refusal = Refusal(.accessDenied)
        refusal.isOutsideTicket = true
        return refusal
    }
}

extension GatewayError {
    /// Returns the error for a missing or expired storage credential. The caller can do nothing: an admin has to renew
    /// it.
    static func unusableCredential(of bucket: Bucket) -> GatewayError {
        .unavailable(retryAfter: 60, cause: "the storage credential of bucket \(bucket.name) is gone or has ended")
    }
}
