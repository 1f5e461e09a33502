import Foundation
import LibCrypto
import Testing

@Suite struct CertificateChainTests {
    /// Made by `openssl req -x509 -newkey ed25519 -not_before 20200101000000Z -not_after TIME`.
    private static func made(_ name: String, expiring time: String) throws -> String {
        let folder = FileManager.default.temporaryDirectory.appending(path: "chain-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        func openssl(_ arguments: String...) throws {
            let process = Process()
            process.executableURL = URL(filePath: "/usr/bin/openssl")
            process.arguments = arguments
            process.standardInput = FileHandle.nullDevice
            process.standardError = FileHandle.nullDevice
            process.currentDirectoryURL = folder
            try process.run()
            process.waitUntilExit()
            try #require(process.terminationStatus == 0)
        }
        try openssl("genpkey", "-algorithm", "ed25519", "-out", "key.pem")
        try openssl("req", "-new", "-key", "key.pem", "-subj", "/CN=\(name)", "-out", "request.pem")
        try "[ca]\n".write(to: folder.appending(path: "ca.cnf"), atomically: true, encoding: .utf8)
        for file in ["index.txt", "index.txt.attr"] {
            try "".write(to: folder.appending(path: file), atomically: true, encoding: .utf8)
        }
        try """
        [ca]
        default_ca = here
        [here]
        database = index.txt
        new_certs_dir = .
        rand_serial = yes
        default_md = default
        policy = any
        [any]
        commonName = supplied
        """.write(to: folder.appending(path: "ca.cnf"), atomically: true, encoding: .utf8)
        try openssl(
            "ca", "-batch", "-selfsign", "-config", "ca.cnf", "-keyfile", "key.pem", "-in", "request.pem", "-notext",
            "-startdate", "20200101000000Z", "-enddate", time, "-out", "certificate.pem")
        return try String(contentsOf: folder.appending(path: "certificate.pem"), encoding: .utf8)
    }

    @Test func `the first of a chain to expire counts`() throws {
        let server = try Self.made("server", expiring: "20310203040506Z")
        // After 2049, X.509 has another form for years (RFC 5280, section 4.1.2.5).
        let issuer = try Self.made("issuer", expiring: "20510203040506Z")
        #expect(try CertificateChain(pem: server).expiresAt == 1_927_857_906)
        #expect(try CertificateChain(pem: issuer).expiresAt == 2_559_009_906)
        #expect(try CertificateChain(pem: "words\n\(issuer)\n\(server)").expiresAt == 1_927_857_906)
    }

    @Test func `what is no certificate is refused`() throws {
        let good = try Self.made("server", expiring: "20310203040506Z")
        var lines = good.split(separator: "\n")
        lines.remove(at: 2)
        let body = lines.joined(separator: "\n")
        for text in ["", "words", body, good + body, String(good.dropLast(40))] {
            #expect(throws: CryptoError.invalidCertificate) { try CertificateChain(pem: text) }
        }
    }
}
