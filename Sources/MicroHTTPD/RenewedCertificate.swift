import Synchronization

/// A certificate and its key that a server has read again and that no client has seen yet.
public struct RenewedCertificate: Sendable {
    /// A daemon with the certificate, for each loop.
    private let successors: [(loop: ServerLoop, daemon: Daemon)]
    /// The certificate chain, in PEM.
    public let certificate: String

    /// Reads the files for the loops of a server.
    init(_ files: HTTPServerConfiguration.TLS, for loops: [ServerLoop]) throws(HTTPServerError) {
        let texts = try CertificateAndKey(reading: files)
        var successors: [(loop: ServerLoop, daemon: Daemon)] = []
        for loop in loops { successors.append((loop, try Daemon(loop: loop, tls: texts))) }
        self.successors = successors
        certificate = texts.certificate
    }

    /// Shows the certificate to the clients that connect from now on. Connections that exist go on with the one that
    /// they know.
    public func use() {
        for (loop, daemon) in successors {
            loop.core.certificate.withLock { $0 = certificate }
            loop.succeed(daemon)
        }
    }
}

extension HTTPServer {
    /// Reads certificate and key again. Clients see them once ``RenewedCertificate/use()`` is called.
    ///
    /// - Returns: `nil` if the server has no certificate.
    /// - Throws: ``HTTPServerError`` if a file cannot be read, or if the two do not fit together.
    public func renewedCertificate() throws(HTTPServerError) -> RenewedCertificate? {
        guard let files = configuration.tls else { return nil }
        return try RenewedCertificate(files, for: loops)
    }
}
