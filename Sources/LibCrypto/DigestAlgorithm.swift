import CLibCrypto

/// A hash function.
public enum DigestAlgorithm: Sendable, Hashable, CaseIterable {
    /// SHA-256, 32 bytes (FIPS 180-4).
    case sha256
    /// SHA-1, 20 bytes (FIPS 180-4). Only for protocols that require it, never for new ones.
    case sha1
    /// MD5, 16 bytes (RFC 1321). Only for `Content-MD5`, which detects accidents, not attacks.
    case md5

    /// Overwrites a digest with that of a whole message, which is the fastest way.
    public func hash(_ message: Span<UInt8>, into digest: inout Digest) {
        switch self {
        case .sha256: SHA256_CTX.hash(message, into: &digest)
        case .sha1: SHA_CTX.hash(message, into: &digest)
        case .md5: MD5_CTX.hash(message, into: &digest)
        }
    }

    /// The digest of a whole message.
    public func digest(of message: Span<UInt8>) -> Digest {
        var digest = Digest()
        hash(message, into: &digest)
        return digest
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
