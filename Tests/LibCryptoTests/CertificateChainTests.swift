import Foundation
import LibCrypto
import TestSupport
import Testing

@Suite struct CertificateChainTests {
    /// Made by `openssl ca -selfsign -startdate 20200101000000Z -enddate TIME`, with a key of Ed25519.
    private static func made(_ name: String, expiring time: String) throws -> String {
        let folder = FileManager.default.temporaryDirectory.appending(path: "chain-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        func openssl(_ arguments: String...) throws -> [UInt8] {
            let (status, output) = try OpenSSL.run(arguments)
            try #require(status == 0, "\(arguments)")
            return output
        }
        let (key, request, settings) = ("\(folder)/key.pem", "\(folder)/request.pem", "\(folder)/ca.cnf")
        _ = try openssl(
            "req", "-new", "-newkey", "ed25519", "-nodes", "-keyout", key, "-subj", "/CN=\(name)", "-out", request)
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
        [any]
        commonName = supplied
        """.write(toFile: settings, atomically: true, encoding: .utf8)
        let certificate = try openssl(
            "ca", "-batch", "-selfsign", "-config", settings, "-keyfile", key, "-in", request, "-notext",
            "-startdate", "20200101000000Z", "-enddate", time)
        return String(decoding: certificate, as: UTF8.self)
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
