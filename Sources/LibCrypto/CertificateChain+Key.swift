import CLibCrypto

extension CertificateChain {
    /// Reads a chain as ``init(pem:)`` does, and checks that a private key is that of its first certificate.
    ///
    /// - Parameters:
    ///   - pem: The certificates.
    ///   - key: An unencrypted private key in PEM, of any kind.
    /// - Throws: ``CryptoError/invalidCertificate``; for the key ``CryptoError/encryptedPrivateKey``,
    ///   ``CryptoError/invalidPrivateKey`` or ``CryptoError/privateKeyOfAnotherCertificate``.
    public init(pem: String, key: String) throws(CryptoError) {
        try self.init(pem: pem)
        defer { ERR_clear_error() }
        guard let privateKey = unsafe readPrivateKey(inPEM: linesOfPEM(key)) else {
            throw key.contains("ENCRYPTED") ? CryptoError.encryptedPrivateKey : .invalidPrivateKey
        }
        defer { unsafe EVP_PKEY_free(privateKey) }
        guard unsafe Self.certifies(privateKey, inPEM: linesOfPEM(pem)) else {
            throw .privateKeyOfAnotherCertificate
        }
    }

    /// Whether the first certificate of a text is that of a key.
    private static func certifies(_ key: OpaquePointer, inPEM text: [UInt8]) -> Bool {
        unsafe text.withUnsafeBufferPointer { text -> Bool in
            guard let count = Int32(exactly: text.count), let source = unsafe BIO_new_mem_buf(text.baseAddress, count)
            else { return false }
            defer { unsafe BIO_free(source) }
            guard let certificate = unsafe PEM_read_bio_X509(source, nil, nil, nil) else { return false }
            defer { unsafe X509_free(certificate) }
            return unsafe X509_check_private_key(certificate, key) == 1
        }
    }
}

/// Reads the first private key of a text in PEM, of any kind; `nil` if there is none, or if it is encrypted or damaged.
/// The caller frees it.
func readPrivateKey(inPEM text: [UInt8]) -> OpaquePointer? {
    unsafe text.withUnsafeBufferPointer { text -> OpaquePointer? in
        guard let count = Int32(exactly: text.count), let source = unsafe BIO_new_mem_buf(text.baseAddress, count)
        else { return nil }
        defer { unsafe BIO_free(source) }
        // An empty password replaces the callback; otherwise libcrypto would ask for a password on the terminal.
        var password: [UInt8] = [0]
        return unsafe PEM_read_bio_PrivateKey(source, nil, nil, &password)
    }
}
