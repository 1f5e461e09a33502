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
}
