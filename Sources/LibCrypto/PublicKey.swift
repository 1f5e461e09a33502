import CLibCrypto

/// A public key that verifies signatures of one kind.
///
/// - Invariant: `init` prepares the context for verifying. After that it is only copied, which reads it. The key inside
///   counts its references atomically and guards its caches with a lock of its own.
@safe public final class PublicKey: @unchecked Sendable {
    /// The hash function of a signature (FIPS 180-4).
    public enum Hash: Sendable, CaseIterable {
        case sha256, sha384, sha512
    }

    /// How an RSA signature encloses the digest (RFC 8017).
    public enum RSAPadding: Sendable, CaseIterable {
        /// RSASSA-PKCS1-v1_5 (section 8.2).
        case pkcs1
        /// RSASSA-PSS (section 8.1) with MGF1, the same hash function in both places and a salt as long as its digest.
        case pss
    }

    /// A curve of ECDSA (FIPS 186-5).
    public enum Curve: Sendable, CaseIterable {
        case p256, p384, p521

        /// Length of a coordinate, and of each number of a signature, in bytes.
        public var byteCount: Int {
            switch self {
            case .p256: 32
            case .p384: 48
            case .p521: 66
            }
        }
    }

    /// How a signature is written.
    private enum Form {
        /// As this many bytes, which libcrypto takes as they are.
        case plain(byteCount: Int)
        /// As two numbers of this many bytes each.
        case pair(byteCount: Int)
    }

    /// Allowed length of an RSA modulus in bits. The time of one verification grows with the square of the length.
    public static let rsaBits = 2048...8192
    /// Allowed length of the modulus of a key that verifies MD5, in bits. The key of Alibaba OSS has 512 bits.
    static let md5Bits = 512...8192
    /// Length of a key and of each half of a signature of Ed25519, in bytes (RFC 8032).
    static let ed25519ByteCount = 32

    private let context: OpaquePointer
    private let form: Form

    /// Takes an RSA key.
    ///
    /// - Parameters:
    ///   - modulus: The modulus, big-endian: an odd number with a length of ``rsaBits``. Leading zeros do not count.
    ///   - exponent: The public exponent, big-endian: an odd number from 3 to 2³² − 1.
    ///   - padding: How signatures enclose the digest.
    ///   - hash: The hash function of signatures.
    /// - Throws: ``CryptoError/invalidPublicKey`` for other numbers.
    public init(
        rsaModulus modulus: [UInt8], exponent: [UInt8], padding: RSAPadding, hash: Hash
    ) throws(CryptoError) {
        let modulus = Array(modulus.drop { $0 == 0 })
        let exponent = Array(exponent.drop { $0 == 0 })
        guard let first = modulus.first, let last = modulus.last,
            Self.rsaBits.contains(8 * modulus.count - first.leadingZeroBitCount), !last.isMultiple(of: 2),
            let lowest = exponent.last, 1...4 ~= exponent.count, !lowest.isMultiple(of: 2), exponent != [1]
        else { throw .invalidPublicKey }
        let key = try PublicKeyData.rsa(modulus: modulus, exponent: exponent)
        guard let context = unsafe Self.context(verifyingWith: key, hash.pointer, padding) else {
            throw .invalidPublicKey
        }
        unsafe self.context = context
        form = .plain(byteCount: modulus.count)
    }

    /// Reads an RSA key that verifies RSASSA-PKCS1-v1_5 with MD5, as Alibaba OSS signs its callbacks.
    ///
    /// Whoever can make two messages with the same MD5 can have one of them signed and present the other. A verified
    /// message is therefore only a hint.
    ///
    /// - Parameter pem: The key, `BEGIN PUBLIC KEY`, with a modulus of ``md5Bits``.
    /// - Throws: ``CryptoError/invalidPublicKey`` for anything else.
    public init(md5PEM pem: String) throws(CryptoError) {
        let key = try PublicKeyData.pem(pem)
        guard unsafe EVP_PKEY_is_a(key.pointer, "RSA") == 1,
            unsafe Self.md5Bits.contains(Int(EVP_PKEY_get_bits(key.pointer))),
            let context = unsafe Self.context(verifyingWith: key, EVP_md5(), .pkcs1)
        else { throw .invalidPublicKey }
        unsafe self.context = context
        form = unsafe .plain(byteCount: Int(EVP_PKEY_get_size(key.pointer)))
    }

    /// Takes a point on a curve as the key of ECDSA.
    ///
    /// - Parameters:
    ///   - x: The first coordinate, big-endian, as long as ``Curve/byteCount``.
    ///   - y: The second coordinate, big-endian, as long as ``Curve/byteCount``.
    ///   - curve: The curve.
    ///   - hash: The hash function of signatures.
    /// - Throws: ``CryptoError/invalidPublicKey`` for coordinates of another length, and for points that are not on the
    ///   curve.
    public init(x: [UInt8], y: [UInt8], on curve: Curve, hash: Hash) throws(CryptoError) {
        guard x.count == curve.byteCount, y.count == curve.byteCount else { throw .invalidPublicKey }
        let key = try PublicKeyData.point(x: x, y: y, on: curve)
        guard let context = unsafe Self.context(verifyingWith: key, hash.pointer, nil) else { throw .invalidPublicKey }
        unsafe self.context = context
        form = .pair(byteCount: curve.byteCount)
    }

    /// Takes a key of Ed25519 (RFC 8032).
    ///
    /// - Parameter key: The encoded point, ``ed25519ByteCount`` bytes. A key that encodes no point verifies nothing.
    /// - Throws: ``CryptoError/invalidPublicKey`` for another length.
    public init(ed25519 key: [UInt8]) throws(CryptoError) {
        guard key.count == Self.ed25519ByteCount else { throw .invalidPublicKey }
        let key = try PublicKeyData.ed25519(key)
        guard let context = unsafe Self.context(verifyingWith: key, nil, nil) else { throw .invalidPublicKey }
        unsafe self.context = context
        form = .plain(byteCount: 2 * Self.ed25519ByteCount)
    }

    deinit {
        unsafe EVP_MD_CTX_free(context)
    }

    /// Whether this key made the signature of a message.
    ///
    /// - Parameter signature: For RSA, as many bytes as the modulus has. For ECDSA, the two numbers r and s one after
    ///   the other, each as long as ``Curve/byteCount`` (RFC 7518, section 3.4). For Ed25519, 64 bytes.
    public func verifies(_ signature: [UInt8], of message: Span<UInt8>) -> Bool {
        let encoded: [UInt8]
        switch form {
        case .plain(let byteCount):
            guard signature.count == byteCount else { return false }
            encoded = signature
        case .pair(let byteCount):
            guard signature.count == 2 * byteCount else { return false }
            encoded = DER.pair(signature[..<byteCount], signature[byteCount...])
        }
        // A copy costs less than a new context: 15 instead of 17 µs for RSA, 52 instead of 64 µs for P-256.
        guard let verifying = unsafe EVP_MD_CTX_new() else { preconditionFailure("Out of memory") }
        defer { unsafe EVP_MD_CTX_free(verifying) }
        guard unsafe EVP_MD_CTX_copy_ex(verifying, context) == 1 else { preconditionFailure("Out of memory") }
        let isRight = unsafe message.withUnsafeBufferPointer { message in
            unsafe EVP_DigestVerify(verifying, encoded, encoded.count, message.baseAddress, message.count) == 1
        }
        if !isRight { ERR_clear_error() }
        return isRight
    }

    /// A context that is ready to verify; `nil` if libcrypto does not take the key for this kind of signature.
    private static func context(
        verifyingWith key: borrowing PublicKeyData, _ hash: OpaquePointer?, _ padding: RSAPadding?
    ) -> OpaquePointer? {
        guard let context = unsafe EVP_MD_CTX_new() else { preconditionFailure("Out of memory") }
        var parameters: OpaquePointer?
        guard unsafe EVP_DigestVerifyInit(context, &parameters, hash, nil, key.pointer) == 1,
            unsafe padding == nil || isSet(padding, in: parameters)
        else {
            unsafe EVP_MD_CTX_free(context)
            ERR_clear_error()
            return nil
        }
        return unsafe context
    }

    private static func isSet(_ padding: RSAPadding?, in parameters: OpaquePointer?) -> Bool {
        guard padding == .pss else { return unsafe EVP_PKEY_CTX_set_rsa_padding(parameters, RSA_PKCS1_PADDING) == 1 }
        return unsafe EVP_PKEY_CTX_set_rsa_padding(parameters, RSA_PKCS1_PSS_PADDING) == 1
            && EVP_PKEY_CTX_set_rsa_pss_saltlen(parameters, RSA_PSS_SALTLEN_DIGEST) == 1
    }
}

extension PublicKey.Hash {
    fileprivate var pointer: OpaquePointer? {
        switch self {
        case .sha256: unsafe EVP_sha256()
        case .sha384: unsafe EVP_sha384()
        case .sha512: unsafe EVP_sha512()
        }
    }
}
