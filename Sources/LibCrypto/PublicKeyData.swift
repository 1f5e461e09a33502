import CLibCrypto

/// Owns one `EVP_PKEY` that is made from a public key.
@safe struct PublicKeyData: ~Copyable {
    let pointer: OpaquePointer

    private init(owning pointer: OpaquePointer?) throws(CryptoError) {
        guard let pointer = unsafe pointer else {
            ERR_clear_error()
            throw .invalidPublicKey
        }
        unsafe self.pointer = pointer
    }

    deinit {
        unsafe EVP_PKEY_free(pointer)
    }

    /// An RSA key. libcrypto checks neither the length nor the evenness of its numbers.
    static func rsa(modulus: [UInt8], exponent: [UInt8]) throws(CryptoError) -> PublicKeyData {
        // Numbers among the parameters begin with their lowest byte, as on all machines that this program is built for.
        var (n, e) = (Array(modulus.reversed()), Array(exponent.reversed()))
        let key = unsafe n.withUnsafeMutableBufferPointer { n -> OpaquePointer? in
            unsafe e.withUnsafeMutableBufferPointer { e -> OpaquePointer? in
                unsafe make(
                    "RSA",
                    [
                        OSSL_PARAM_construct_BN(name("n"), n.baseAddress, n.count),
                        OSSL_PARAM_construct_BN(name("e"), e.baseAddress, e.count),
                    ])
            }
        }
        return try unsafe PublicKeyData(owning: key)
    }

    /// A point, which libcrypto checks to be on the curve.
    static func point(x: [UInt8], y: [UInt8], on curve: PublicKey.Curve) throws(CryptoError) -> PublicKeyData {
        // SEC 1, section 2.3.3: an uncompressed point begins with 4.
        var point = [4] + x + y
        var group = Array(curve.name.utf8CString)
        let key = unsafe point.withUnsafeMutableBufferPointer { point -> OpaquePointer? in
            unsafe group.withUnsafeMutableBufferPointer { group -> OpaquePointer? in
                unsafe make(
                    "EC",
                    [
                        OSSL_PARAM_construct_utf8_string(name("group"), group.baseAddress, 0),
                        OSSL_PARAM_construct_octet_string(name("pub"), point.baseAddress, point.count),
                    ])
            }
        }
        return try unsafe PublicKeyData(owning: key)
    }

    /// A key of Ed25519. libcrypto finds out only while it verifies whether the bytes encode a point.
    static func ed25519(_ key: [UInt8]) throws(CryptoError) -> PublicKeyData {
        try unsafe PublicKeyData(owning: EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nil, key, key.count))
    }

    /// A key of any type in PEM, `BEGIN PUBLIC KEY`.
    static func pem(_ text: String) throws(CryptoError) -> PublicKeyData {
        let key = unsafe Array(text.utf8).withUnsafeBufferPointer { text -> OpaquePointer? in
            guard let count = Int32(exactly: text.count), let source = unsafe BIO_new_mem_buf(text.baseAddress, count)
            else { return nil }
            defer { unsafe BIO_free(source) }
            return unsafe PEM_read_bio_PUBKEY(source, nil, nil, nil)
        }
        return try unsafe PublicKeyData(owning: key)
    }

    /// A key of a type from its parameters; `nil` if libcrypto refuses them.
    private static func make(_ type: String, _ parameters: [OSSL_PARAM]) -> OpaquePointer? {
        guard let context = unsafe EVP_PKEY_CTX_new_from_name(nil, type, nil) else {
            preconditionFailure("This libcrypto offers no \(type)")
        }
        defer { unsafe EVP_PKEY_CTX_free(context) }
        var all = unsafe parameters + [OSSL_PARAM_construct_end()]
        var key: OpaquePointer?
        let selection = OSSL_KEYMGMT_SELECT_ALL_PARAMETERS | OSSL_KEYMGMT_SELECT_PUBLIC_KEY
        guard unsafe EVP_PKEY_fromdata_init(context) == 1,
            unsafe EVP_PKEY_fromdata(context, &key, selection, &all) == 1
        else { return nil }
        return unsafe key
    }

    /// The name of a parameter, which libcrypto does not copy: a text of the program lives long enough.
    private static func name(_ text: StaticString) -> UnsafePointer<CChar> {
        unsafe UnsafeRawPointer(text.utf8Start).assumingMemoryBound(to: CChar.self)
    }
}

extension PublicKey.Curve {
    fileprivate var name: String {
        switch self {
        case .p256: "P-256"
        case .p384: "P-384"
        case .p521: "P-521"
        }
    }
}
