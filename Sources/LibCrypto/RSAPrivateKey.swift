import CLibCrypto

/// An RSA key that signs with RSASSA-PKCS1-v1_5 (RFC 8017, section 8.2) and one hash function.
///
/// - Invariant: `init` prepares the context for signing. After that it is only duplicated, which reads it. The key
///   inside counts its references atomically and guards its caches with a lock of its own.
@safe public final class RSAPrivateKey: @unchecked Sendable {
    /// No issuer has made shorter keys for years.
    static let minBits = 2048

    private let context: OpaquePointer
    private let algorithm: DigestAlgorithm
    /// Length of a signature in bytes.
    public let signatureByteCount: Int

    /// Reads an unencrypted private key in PEM, PKCS #8 or PKCS #1, and signs once to check that its numbers fit
    /// together.
    ///
    /// - Parameters:
    ///   - pem: The key.
    ///   - algorithm: The hash function of its signatures.
    /// - Throws: ``CryptoError/invalidPrivateKey`` for anything else, and for keys with less than ``minBits`` bits.
    public init(pem: String, hashingWith algorithm: DigestAlgorithm = .sha256) throws(CryptoError) {
        guard let context = unsafe Self.context(pem: pem, algorithm) else {
            ERR_clear_error()
            throw .invalidPrivateKey
        }
        unsafe self.context = context
        self.algorithm = algorithm
        signatureByteCount = unsafe Int(EVP_PKEY_get_size(EVP_PKEY_CTX_get0_pkey(context)))
        let digest = algorithm.digest(of: [])
        guard unsafe Self.verifies(try signature(of: digest), of: digest, with: context, algorithm) else {
            ERR_clear_error()
            throw .invalidPrivateKey
        }
    }

    deinit {
        unsafe EVP_PKEY_CTX_free(context)
    }

    /// The signature of a message, as long as the key's modulus.
    ///
    /// - Throws: ``CryptoError/invalidPrivateKey``, only for a key whose numbers do not fit together.
    public func signature(of message: Span<UInt8>) throws(CryptoError) -> [UInt8] {
        try signature(of: algorithm.digest(of: message))
    }

    /// The signature of a message, as long as the key's modulus.
    ///
    /// - Throws: ``CryptoError/invalidPrivateKey``, only for a key whose numbers do not fit together.
    public func signature(of message: [UInt8]) throws(CryptoError) -> [UInt8] {
        try signature(of: message.span)
    }

    private func signature(of digest: Digest) throws(CryptoError) -> [UInt8] {
        guard let signing = unsafe EVP_PKEY_CTX_dup(context) else { preconditionFailure("Out of memory") }
        defer { unsafe EVP_PKEY_CTX_free(signing) }
        var signature = [UInt8](repeating: 0, count: signatureByteCount)
        var count = signatureByteCount
        let bytes = digest.bytes
        guard unsafe EVP_PKEY_sign(signing, &signature, &count, bytes, bytes.count) == 1, count == signatureByteCount
        else {
            ERR_clear_error()
            throw .invalidPrivateKey
        }
        return signature
    }

    private static func verifies(
        _ signature: [UInt8], of digest: Digest, with context: OpaquePointer, _ algorithm: DigestAlgorithm
    ) -> Bool {
        guard let verifying = unsafe EVP_PKEY_CTX_new(EVP_PKEY_CTX_get0_pkey(context), nil) else {
            preconditionFailure("Out of memory")
        }
        defer { unsafe EVP_PKEY_CTX_free(verifying) }
        let bytes = digest.bytes
        return unsafe EVP_PKEY_verify_init(verifying) == 1 && isPKCS1(verifying, algorithm)
            && EVP_PKEY_verify(verifying, signature, signature.count, bytes, bytes.count) == 1
    }

    private static func isPKCS1(_ context: OpaquePointer, _ algorithm: DigestAlgorithm) -> Bool {
        let hash =
            switch algorithm {
            case .sha256: unsafe EVP_sha256()
            case .sha1: unsafe EVP_sha1()
            case .md5: unsafe EVP_md5()
            }
        return unsafe EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PADDING) == 1
            && EVP_PKEY_CTX_set_signature_md(context, hash) == 1
    }

    /// A context that is ready to sign; `nil` if the text contains no suitable key.
    private static func context(pem: String, _ algorithm: DigestAlgorithm) -> OpaquePointer? {
        guard let key = unsafe readPrivateKey(inPEM: Array(pem.utf8)) else { return nil }
        defer { unsafe EVP_PKEY_free(key) }
        guard unsafe EVP_PKEY_is_a(key, "RSA") == 1, unsafe EVP_PKEY_get_bits(key) >= minBits,
            let context = unsafe EVP_PKEY_CTX_new(key, nil)
        else { return nil }
        guard unsafe EVP_PKEY_sign_init(context) == 1, unsafe isPKCS1(context, algorithm) else {
            unsafe EVP_PKEY_CTX_free(context)
            return nil
        }
        return unsafe context
    }
}
