import CLibCrypto
import Glibc

/// The certificates in a text, that of the server first (RFC 8446, section 4.4.2).
public struct CertificateChain: Sendable {
    /// When the first of them to expire does, in seconds since 1970 (`notAfter` of RFC 5280, section 4.1.2.5).
    public let expiresAt: Int

    /// Reads all certificates of a text in PEM; what else is in it is skipped.
    ///
    /// - Throws: ``CryptoError/invalidCertificate`` if there is none, or if one cannot be read.
    public init(pem: String) throws(CryptoError) {
        guard let expiresAt = Self.expiries(inPEM: Array(pem.utf8))?.min() else { throw .invalidCertificate }
        self.expiresAt = expiresAt
    }

    /// When each certificate expires; `nil` if one cannot be read.
    private static func expiries(inPEM text: [UInt8]) -> [Int]? {
        unsafe text.withUnsafeBufferPointer { text -> [Int]? in
            guard let count = Int32(exactly: text.count), let source = unsafe BIO_new_mem_buf(text.baseAddress, count)
            else { return nil }
            defer { unsafe BIO_free(source) }
            var expiries: [Int] = []
            while let certificate = unsafe PEM_read_bio_X509(source, nil, nil, nil) {
                defer { unsafe X509_free(certificate) }
                var time = unsafe tm()
                guard unsafe ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &time) == 1 else { return nil }
                expiries.append(unsafe timegm(&time))
            }
            // The end of the text is an error that tells itself from others.
            let error = ERR_peek_last_error()
            ERR_clear_error()
            return sluice_is_end_of_pem(error) == 1 ? expiries : nil
        }
    }
}
