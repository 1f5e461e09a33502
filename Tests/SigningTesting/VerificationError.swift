/// Why a presigned request is refused.
public enum VerificationError: Error, Sendable, Equatable {
    /// A parameter of the signature is absent, given twice or unreadable; the text says which.
    case malformed(String)
    /// The access key id is not known.
    case unknownAccessKey
    /// The credential is for another region or service, or for another day than the date.
    case wrongScope
    /// The security token does not belong to the access key.
    case wrongSecurityToken
    /// The life of the URL begins in the future, beyond the tolerance.
    case notYetValid
    /// The life of the URL has ended.
    case expired
    /// A header that the signature binds was not sent.
    case headerMissing(String)
    /// A header that must be bound if it is sent is not bound.
    case headerNotSigned(String)
    /// The request differs from the signed one, or another secret signed it.
    case signatureMismatch
}
