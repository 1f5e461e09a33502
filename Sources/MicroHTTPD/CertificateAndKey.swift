import Glibc
import LibCrypto

/// The texts of a certificate chain and of the private key of its first certificate, in PEM.
struct CertificateAndKey {
    let certificate: String
    let key: String

    /// Reads both files, and checks that they fit together.
    ///
    /// - Throws: ``HTTPServerError/unreadableFile(path:reason:)``, ``HTTPServerError/unusableFile(path:reason:)``.
    init(reading files: HTTPServerConfiguration.TLS) throws(HTTPServerError) {
        certificate = try readText(files.certificateFile)
        key = try readText(files.keyFile)
        do throws(CryptoError) {
            _ = try CertificateChain(pem: certificate, key: key)
        } catch {
            throw refusal(error, of: files)
        }
    }

    /// The error that names the file at fault.
    private func refusal(_ error: CryptoError, of files: HTTPServerConfiguration.TLS) -> HTTPServerError {
        switch error {
        case .invalidCertificate:
            .unusableFile(
                path: files.certificateFile, reason: flaw(of: certificate, lacking: "CERTIFICATE-----", "certificate"))
        case .encryptedPrivateKey: .unusableFile(path: files.keyFile, reason: "is encrypted")
        case .privateKeyOfAnotherCertificate:
            .unusableFile(
                path: files.keyFile, reason: "is not the key of the first certificate in \(files.certificateFile)")
        default:
            .unusableFile(path: files.keyFile, reason: flaw(of: key, lacking: "PRIVATE KEY-----", "private key"))
        }
    }
}

/// What is wrong with a text that should hold an item in PEM.
private func flaw(of text: String, lacking label: String, _ item: String) -> String {
    if text.isEmpty { return "is empty" }
    return text.contains(label) ? "has a \(item) that cannot be read" : "has no \(item) in PEM"
}

/// The contents of a small file.
private func readText(_ path: String) throws(HTTPServerError) -> String {
    let failure = { HTTPServerError.unreadableFile(path: path, reason: unsafe String(cString: strerror(errno))) }
    guard let file = unsafe fopen(path, "re") else { throw failure() }
    defer { unsafe fclose(file) }
    var bytes = [UInt8](repeating: 0, count: 1_024 * 1_024)
    let count = unsafe bytes.withUnsafeMutableBytes { unsafe fread($0.baseAddress, 1, $0.count, file) }
    guard unsafe ferror(file) == 0 else { throw failure() }
    return String(decoding: bytes[..<count], as: UTF8.self)
}
