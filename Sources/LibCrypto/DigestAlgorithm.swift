import CLibCrypto

/// A hash function.
public enum DigestAlgorithm: Sendable, Hashable, CaseIterable {
    /// SHA-256, 32 bytes (FIPS 180-4).
    case sha256
    /// SHA-1, 20 bytes (FIPS 180-4). For protocols that prescribe it, never for new ones.
    case sha1
    /// MD5, 16 bytes (RFC 1321). For `Content-MD5` only, which guards against accidents and not against attackers.
    case md5

    /// Length of the digest in bytes.
    public var byteCount: Int {
        switch self {
        case .sha256: 32
        case .sha1: 20
        case .md5: 16
        }
    }

    /// The digest of a whole message.
    public func digest(of message: Span<UInt8>) -> Digest {
        switch self {
        case .sha256: SHA256_CTX.digest(of: message)
        case .sha1: SHA_CTX.digest(of: message)
        case .md5: MD5_CTX.digest(of: message)
        }
    }

    /// The digest of a whole message.
    public func digest(of message: [UInt8]) -> Digest {
        digest(of: message.span)
    }

    /// The digest of a text in UTF-8.
    public func digest(of text: String) -> Digest {
        digest(of: text.utf8Span.span)
    }
}
