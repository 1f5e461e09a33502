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

    /// Makes a key and a self-signed certificate for 127.0.0.1, valid in a given time.
    ///
    /// - Parameters:
    ///   - name: The common name.
    ///   - start: When it becomes valid, such as `20200101000000Z`.
    ///   - end: When it expires.
    ///   - certificate: The file to write the certificate to.
    ///   - key: The file to write the key to.
    public static func makeCertificate(
        named name: String, from start: String, until end: String, certificate: URL, key: URL
    ) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "authority-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try "".write(toFile: "\(folder)/index.txt", atomically: true, encoding: .utf8)
        try """
        [ca]
        default_ca = here
        [here]
        database = \(folder)/index.txt
        new_certs_dir = \(folder)
        rand_serial = yes
        default_md = default
        policy = any
        copy_extensions = copy
        [any]
        commonName = supplied
        """.write(toFile: "\(folder)/ca.cnf", atomically: true, encoding: .utf8)
        let request = "\(folder)/request.pem"
        for arguments in [
            [
                "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key.path,
                "-subj", "/CN=\(name)", "-addext", "subjectAltName=IP:127.0.0.1", "-out", request,
            ],
            [
                "ca", "-batch", "-selfsign", "-config", "\(folder)/ca.cnf", "-keyfile", key.path, "-in", request,
                "-notext", "-startdate", start, "-enddate", end, "-out", certificate.path,
            ],
        ] {
            let (status, _) = try run(arguments)
            try #require(status == 0, "\(arguments)")
        }
    }
}
