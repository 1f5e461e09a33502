import CLibCrypto

/// An RSA key that verifies RSASSA-PKCS1-v1_5 with MD5 (RFC 8017, section 8.2), as Alibaba OSS signs its callbacks.
///
/// Whoever can make two messages with the same MD5 can have one of them signed and present the other. A verified
/// message is therefore only a hint.
///
/// - Invariant: `init` prepares the context for verifying. After that it is only duplicated, which reads it.
@safe public final class RSAPublicKey: @unchecked Sendable {
    /// Allowed length of a key in bits. The key of Alibaba OSS has 512 bits; verifying with a very long key would take
    /// long.
    public static let bits = 512...8192

    private let context: OpaquePointer

    /// Reads a public key in PEM, `BEGIN PUBLIC KEY`.
    ///
    /// - Throws: ``CryptoError/invalidPublicKey`` for anything else, and for keys of another length.
    public init(pem: String) throws(CryptoError) {
        guard let context = unsafe Self.context(pem: pem) else {
            ERR_clear_error()
            throw .invalidPublicKey
        }
        unsafe self.context = context
    }

    deinit {
        unsafe EVP_PKEY_CTX_free(context)
    }

    /// Whether this key made the signature of a message.
    public func verifiesMD5(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        guard let verifying = unsafe EVP_PKEY_CTX_dup(context) else { preconditionFailure("Out of memory") }
        defer { unsafe EVP_PKEY_CTX_free(verifying) }
        let bytes = DigestAlgorithm.md5.digest(of: message).bytes
        let isRight = unsafe EVP_PKEY_verify(verifying, signature, signature.count, bytes, bytes.count) == 1
        if !isRight { ERR_clear_error() }
        return isRight
    }

    /// A context that is ready to verify; `nil` if the text contains no suitable key.
    private static func context(pem: String) -> OpaquePointer? {
        guard let key = unsafe key(pem: Array(pem.utf8)) else { return nil }
        defer { unsafe EVP_PKEY_free(key) }
        guard unsafe EVP_PKEY_is_a(key, "RSA") == 1, unsafe bits.contains(Int(EVP_PKEY_get_bits(key))),
            let context = unsafe EVP_PKEY_CTX_new(key, nil)
        else { return nil }
        guard unsafe EVP_PKEY_verify_init(context) == 1,
            unsafe EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PADDING) == 1,
            unsafe EVP_PKEY_CTX_set_signature_md(context, EVP_md5()) == 1
        else {
            unsafe EVP_PKEY_CTX_free(context)
            return nil
        }
        return unsafe context
    }

    private static func key(pem: [UInt8]) -> OpaquePointer? {
        unsafe pem.withUnsafeBufferPointer { text -> OpaquePointer? in
            guard let count = Int32(exactly: text.count), let source = unsafe BIO_new_mem_buf(text.baseAddress, count)
            else { return nil }
            defer { unsafe BIO_free(source) }
            return unsafe PEM_read_bio_PUBKEY(source, nil, nil, nil)
        }
    }
}
