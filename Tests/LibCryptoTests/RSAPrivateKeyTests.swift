import Foundation
import LibCrypto
import TestSupport
import Testing

@Suite("RSA signatures")
struct RSAPrivateKeyTests {
    private func newKey(bits: Int = 2048, options: [String] = []) throws -> String {
        let (status, output) = try OpenSSL.run(
            ["genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:\(bits)"] + options)
        try #require(status == 0)
        return String(decoding: output, as: UTF8.self)
    }

    @Test(arguments: [2048, 3072])
    func opensslAcceptsTheSignature(bits: Int) throws {
        let pem = try newKey(bits: bits)
        let key = try RSAPrivateKey(pem: pem)
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (keyFile, signatureFile) = (folder.appending(path: "key"), folder.appending(path: "signature"))
        try Data(pem.utf8).write(to: keyFile)
        for message in [[], Array("message".utf8), [UInt8](repeating: 7, count: 100_000)] {
            let signature = try key.signature(of: message)
            #expect(signature.count == bits / 8)
            #expect(try key.signature(of: message) == signature)
            try Data(signature).write(to: signatureFile)
            let verify = ["dgst", "-sha256", "-prverify", keyFile.path(), "-signature", signatureFile.path()]
            #expect(try OpenSSL.run(verify, input: message).status == 0)
            #expect(try OpenSSL.run(verify, input: message + [0]).status != 0)
        }
    }

    @Test func readsPKCS1AsWellAsPKCS8() throws {
        let pem = try newKey()
        let traditional = String(
            decoding: try OpenSSL.run(["rsa", "-traditional"], input: Array(pem.utf8)).output, as: UTF8.self)
        try #require(traditional.contains("BEGIN RSA PRIVATE KEY"))
        let message = Array("m".utf8)
        #expect(
            try RSAPrivateKey(pem: pem).signature(of: message) == RSAPrivateKey(pem: traditional).signature(of: message)
        )
    }

    @Test func refusesKeysThatCannotSignSo() throws {
        let short = try newKey(bits: 1024)
        let elliptic = String(
            decoding: try OpenSSL.run(["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"]).output,
            as: UTF8.self)
        let whole = try newKey()
        let encrypted = String(
            decoding: try OpenSSL.run(
                ["pkcs8", "-topk8", "-v2", "aes256", "-passout", "pass:p"], input: Array(whole.utf8)
            ).output, as: UTF8.self)
        let publicKey = String(
            decoding: try OpenSSL.run(["rsa", "-pubout"], input: Array(whole.utf8)).output, as: UTF8.self)
        try #require(elliptic.contains("BEGIN PRIVATE KEY") && encrypted.contains("ENCRYPTED"))
        for pem in [
            "", "-----BEGIN PRIVATE KEY-----", short, elliptic, encrypted, publicKey, String(whole.dropLast(200)),
        ] {
            #expect(throws: CryptoError.invalidPrivateKey) { try RSAPrivateKey(pem: pem) }
        }
    }

    @Test func signsInManyThreadsAtOnce() async throws {
        let key = try RSAPrivateKey(pem: newKey())
        let expected = try (0..<8).map { try key.signature(of: [UInt8($0)]) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for (number, signature) in expected.enumerated() {
                        let again = try key.signature(of: [UInt8(number)])
                        #expect(again == signature)
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}
