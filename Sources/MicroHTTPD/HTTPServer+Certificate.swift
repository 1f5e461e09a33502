extension HTTPServer {
    /// Checks that a server could show a certificate: that both files can be read, and that the key is that of the
    /// first certificate. The dates of the certificates are not looked at.
    ///
    /// - Throws: ``HTTPServerError``, which names the file at fault.
    public static func checkCertificate(_ files: HTTPServerConfiguration.TLS) throws(HTTPServerError) {
        _ = try CertificateAndKey(reading: files)
    }
}
