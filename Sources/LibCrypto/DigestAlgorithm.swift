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

    /// Length of the blocks that the function works on, in bytes; all three use 64.
    var blockByteCount: Int { 64 }
}
