import Glibc

/// The texts of a certificate chain and of its private key, in PEM.
struct CertificateAndKey {
    let certificate: String
    let key: String

    /// Reads both files.
    ///
    /// - Throws: ``HTTPServerError/unreadableFile(path:reason:)``.
    init(reading files: HTTPServerConfiguration.TLS) throws(HTTPServerError) {
        certificate = try readText(files.certificateFile)
        key = try readText(files.keyFile)
    }
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
