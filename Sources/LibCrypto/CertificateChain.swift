import CLibCrypto
import Glibc

/// The certificates in a text, that of the server first (RFC 8446, section 4.4.2).
public struct CertificateChain: Sendable {
    /// When the last of them to become valid does, in seconds since 1970 (`notBefore` of RFC 5280, section 4.1.2.5).
    public let startsAt: Int
    /// When the first of them to expire does, in seconds since 1970 (`notAfter` of RFC 5280, section 4.1.2.5).
    public let expiresAt: Int

    /// Reads all certificates of a text in PEM; what else is in it is skipped.
    ///
    /// - Throws: ``CryptoError/invalidCertificate`` if there is none, or if one cannot be read.
    public init(pem: String) throws(CryptoError) {
        guard let periods = Self.periods(inPEM: linesOfPEM(pem)), let startsAt = periods.map({ $0.start }).max(),
            let expiresAt = periods.map({ $0.end }).min()
        else { throw .invalidCertificate }
        self.startsAt = startsAt
        self.expiresAt = expiresAt
    }

    /// When each certificate is valid; `nil` if one cannot be read.
    private static func periods(inPEM text: [UInt8]) -> [(start: Int, end: Int)]? {
        unsafe text.withUnsafeBufferPointer { text -> [(start: Int, end: Int)]? in
            guard let count = Int32(exactly: text.count), let source = unsafe BIO_new_mem_buf(text.baseAddress, count)
            else { return nil }
            defer { unsafe BIO_free(source) }
            var periods: [(start: Int, end: Int)] = []
            while let certificate = unsafe PEM_read_bio_X509(source, nil, nil, nil) {
                defer { unsafe X509_free(certificate) }
                var start = unsafe tm()
                var end = unsafe tm()
                guard unsafe ASN1_TIME_to_tm(X509_get0_notBefore(certificate), &start) == 1,
                    unsafe ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &end) == 1
                else { return nil }
                periods.append((start: unsafe timegm(&start), end: unsafe timegm(&end)))
            }
            // The end of the text is an error that tells itself from others.
            let error = ERR_peek_last_error()
            ERR_clear_error()
            return sluice_is_end_of_pem(error) == 1 ? periods : nil
        }
    }
}
