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

    /// Length of the blocks that the function works on, in bytes; all three use 64.
    var blockByteCount: Int { 64 }

    var implementation: FetchedDigest {
        switch self {
        case .sha256: .sha256
        case .sha1: .sha1
        case .md5: .md5
        }
    }
}

/// A digest implementation of libcrypto, looked up once: fetching it anew for each message costs more than a short message.
///
/// - Invariant: The first caller sets the pointer, all others wait for that and only read it. Behind it nothing changes but the
///   count of references, which libcrypto keeps atomically; it is never freed.
@safe struct FetchedDigest: @unchecked Sendable {
    static let sha256 = FetchedDigest(named: "SHA2-256")
    static let sha1 = FetchedDigest(named: "SHA1")
    static let md5 = FetchedDigest(named: "MD5")

    let pointer: OpaquePointer

    private init(named name: String) {
        guard let fetched = unsafe EVP_MD_fetch(nil, name, nil) else {
            preconditionFailure("This libcrypto offers no \(name)")
        }
        unsafe pointer = fetched
    }
}
