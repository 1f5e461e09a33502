/// Why a request was refused, in one word. Operators see it in the log and with `GET /admin/v1/requests/{requestID}`;
/// callers never do.
public enum RefusalReason: String, Sendable, CaseIterable {
    // The credential.

    /// There is no credential that can be read.
    case noCredential
    /// The token is not a JWT in compact form with a supported header.
    case malformedToken
    /// No row has the issuer that the token names.
    case unknownIssuer
    /// The issuer's row does not list the token's algorithm.
    case algorithmNotAccepted
    /// The issuer's keys include none with the token's `kid`.
    case unknownKeyID
    /// No key of the issuer made the signature.
    case badSignature
    /// The token is for none of the issuer's audiences.
    case wrongAudience
    /// The token is valid from a later time.
    case notYetValid
    /// A claim that the gateway needs is missing or malformed.
    case claimNotAccepted
    /// The token has expired.
    case tokenExpired
    /// No API key has this prefix: it was deleted, or it never existed.
    case unknownAPIKey
    /// An API key has this prefix, but another secret.
    case wrongAPIKey
    /// The API key has expired.
    case apiKeyExpired
    /// No ticket has this name: it was revoked or removed, or it never existed.
    case unknownTicket
    /// A ticket has this name, but another secret.
    case wrongTicket
    /// The ticket has expired, or all of its uses are taken.
    case ticketExpired
    /// The API key or issuer under which the ticket was made is gone.
    case ticketOrphaned
    /// The operation accepts no tickets, or not this one.
    case ticketNotAccepted
    /// The credential is not accepted for another reason.
    case credentialNotAccepted

    // The caller's rights.

    /// The caller lacks the role that the operation needs.
    case roleMissing
    /// The caller's role is limited to scopes, and the operation is outside of them or not for delegated admins.
    case outsideAdminScope
    /// There is no such bucket.
    case noSuchBucket
    /// The bucket does not open the protocol by which the request came.
    case protocolClosed
    /// The ticket does not cover the request.
    case outsideTicket
    /// No grant covers the key and the action.
    case noGrant
    /// A grant denies the request.
    case deniedByGrant
    /// A grant covers the key and the action, but one of its conditions does not hold.
    case conditionFailed
    /// The object would exceed the limit of the grant.
    case entityTooLarge
    /// A limit of the grant or of a quota cannot be enforced here.
    case notEnforceable
    /// A quota has no room.
    case quotaExceeded
    /// The request is not accepted for another reason.
    case notPermitted

    // The gateway.

    /// The principal sent too many requests.
    case tooManyRequests
    /// The gateway, its database or a store failed.
    case failed
}
