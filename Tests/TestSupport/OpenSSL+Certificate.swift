public import Foundation
import Testing

extension OpenSSL {
    /// Makes a key and a self-signed certificate for 127.0.0.1, valid for two days.
    ///
    /// - Parameter folder: The folder to write them to, which exists.
    /// - Returns: The paths of both files.
    public static func makeCertificate(in folder: URL) throws -> (certificate: String, key: String) {
        let certificate = folder.appending(path: "certificate.pem").path
        let key = folder.appending(path: "key.pem").path
        let (status, _) = try run(
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
                "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-out", certificate, "-keyout", key,
            ])
        try #require(status == 0)
        return (certificate, key)
    }
}
