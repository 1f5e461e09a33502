import Foundation
import LibCrypto
import TestSupport
import Testing

@Suite struct CertificateChainTests {
    private static func made(
        _ name: String, from start: String = "20200101000000Z", expiring end: String
    ) throws -> String {
        let folder = FileManager.default.temporaryDirectory.appending(path: "chain-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let certificate = folder.appending(path: "certificate.pem")
        try OpenSSL.makeCertificate(
            named: name, from: start, until: end, certificate: certificate, key: folder.appending(path: "key.pem"))
        return try String(contentsOf: certificate, encoding: .utf8)
    }

    @Test func `the first of a chain to expire counts`() throws {
        let server = try Self.made("server", expiring: "20310203040506Z")
        // After 2049, X.509 has another form for years (RFC 5280, section 4.1.2.5).
        let issuer = try Self.made("issuer", expiring: "20510203040506Z")
        #expect(try CertificateChain(pem: server).expiresAt == 1_927_857_906)
        #expect(try CertificateChain(pem: issuer).expiresAt == 2_559_009_906)
        #expect(try CertificateChain(pem: "words\n\(issuer)\n\(server)").expiresAt == 1_927_857_906)
    }

    @Test func `the last of a chain to become valid counts`() throws {
        let server = try Self.made("server", from: "20210203040506Z", expiring: "20310203040506Z")
        let issuer = try Self.made("issuer", expiring: "20310203040506Z")
        #expect(try CertificateChain(pem: issuer).startsAt == 1_577_836_800)
        #expect(try CertificateChain(pem: server + issuer).startsAt == 1_612_325_106)
        #expect(try CertificateChain(pem: issuer + server).startsAt == 1_612_325_106)
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

    /// A self-signed certificate with its key, and the key in further forms, made by the openssl command.
    private static func pair(_ kind: String...) throws -> (certificate: String, key: String, encrypted: [String]) {
        let folder = FileManager.default.temporaryDirectory.appending(path: "pair-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (certificate, key) = (folder.appending(path: "certificate.pem"), folder.appending(path: "key.pem"))
        let request = ["req", "-x509", "-newkey"] + kind + ["-nodes", "-subj", "/CN=gateway"]
        try #require(OpenSSL.run(request + ["-out", certificate.path, "-keyout", key.path]).status == 0)
        let forms = [["pkcs8", "-topk8", "-v2", "aes256"], ["pkey", "-traditional", "-aes256"]]
        let encrypted = try forms.compactMap { form -> String? in
            let (status, text) = try OpenSSL.run(form + ["-in", key.path, "-passout", "pass:made-up"])
            // A key of Ed25519 has one form only.
            return status == 0 ? String(decoding: text, as: UTF8.self) : nil
        }
        try #require(!encrypted.isEmpty)
        let texts = try [certificate, key].map { try String(contentsOf: $0, encoding: .utf8) }
        return (texts[0], texts[1], encrypted)
    }

    @Test func `a key fits the first certificate of a chain, and no other`() throws {
        let pairs = [
            try Self.pair("rsa:2048"), try Self.pair("ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            try Self.pair("ed25519"),
        ]
        for (place, own) in pairs.enumerated() {
            for (otherPlace, other) in pairs.enumerated() {
                let chain = own.certificate + other.certificate
                #expect(throws: Never.self) { try CertificateChain(pem: chain, key: own.key) }
                #expect(throws: Never.self) { try CertificateChain(pem: own.certificate, key: "words\n" + own.key) }
                guard place != otherPlace else { continue }
                #expect(throws: CryptoError.privateKeyOfAnotherCertificate) {
                    try CertificateChain(pem: chain, key: other.key)
                }
            }
            let flawed: [(key: String, error: CryptoError)] =
                own.encrypted.map { ($0, CryptoError.encryptedPrivateKey) }
                + ["", "words", String(own.key.dropFirst(40)), own.certificate].map { ($0, .invalidPrivateKey) }
            for (key, error) in flawed {
                #expect(throws: error) { try CertificateChain(pem: own.certificate, key: key) }
            }
            #expect(throws: CryptoError.invalidCertificate) { try CertificateChain(pem: own.key, key: own.key) }
        }
    }
}
