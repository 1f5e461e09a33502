import Foundation
import Signing
import Testing

@Suite("Key files of service accounts")
struct ServiceAccountTests {
    private func file(_ changes: [String: String?] = [:]) throws -> String {
        var fields: [String: String] = [
            "type": "service_account", "project_id": "p", "private_key_id": "k",
            "private_key": "-----BEGIN PRIVATE KEY-----\nAA/+\n-----END PRIVATE KEY-----\n",
            "client_email": "signer@p.iam.gserviceaccount.com", "universe_domain": "googleapis.com",
        ]
        for (name, value) in changes { fields[name] = value }
        return String(decoding: try JSONEncoder().encode(fields), as: UTF8.self)
    }

    @Test func givesAddressAndPrivateKey() throws {
        let credential = try ServiceAccount(json: file()).credential
        #expect(credential.accessKeyID == "signer@p.iam.gserviceaccount.com")
        #expect(credential.secretAccessKey == "-----BEGIN PRIVATE KEY-----\nAA/+\n-----END PRIVATE KEY-----\n")
        #expect(credential.securityToken == nil)
    }

    @Test(arguments: ["é", "\u{1F511}", "\"\\/\u{8}\u{C}\n\r\t", "\u{0}", "e\u{301}\u{200D}"])
    func readsEveryTextThatJSONCanWrite(text: String) throws {
        for options: JSONEncoder.OutputFormatting in [[], .prettyPrinted] {
            let encoder = JSONEncoder()
            encoder.outputFormatting = options
            let object = ["type": "service_account", "client_email": text, "private_key": text]
            let json = String(decoding: try encoder.encode(object), as: UTF8.self)
            let credential = try ServiceAccount(json: json).credential
            #expect(Array(credential.secretAccessKey.utf8) == Array(text.utf8))
        }
        let escaped = text.utf16.map {
            "\\u" + String(repeating: "0", count: 4 - String($0, radix: 16).count) + String($0, radix: 16)
        }
        let json = #"{"type": "service_account", "client_email": "a", "private_key": "\#(escaped.joined())"}"#
        #expect(Array(try ServiceAccount(json: json).credential.secretAccessKey.utf8) == Array(text.utf8))
    }

    @Test(arguments: ["type", "client_email", "private_key"])
    func needsItsFields(name: String) throws {
        let json = try file([name: nil as String?])
        #expect(throws: SigningError.self) { try ServiceAccount(json: json) }
    }

    @Test func refusesOtherKindsOfAccount() throws {
        let json = try file(["type": "authorized_user"])
        #expect(throws: SigningError.invalidPrivateKey("the key file is not of type service_account")) {
            try ServiceAccount(json: json)
        }
    }

    @Test(arguments: [
        "", "{", "[]", "null", "{}x", "{\"a\"}", "{\"a\":1}", "{\"a\":\"b\",}", "{\"a\":\"b\" \"c\":\"d\"}",
        "{\"a\":\"\\x\"}",
        "{\"a\":\"\\u12\"}", "{\"a\":\"\\u12g4\"}", "{\"a\":\"\\ud800\"}", "{\"a\":\"\n\"}",
        "{\"a\":\"b\",\"a\":\"b\"}", "{\"a\":\"",
        "{\"a\":{\"b\":\"c\"}}", "{\"a\":\"\\",
    ])
    func refusesWhatIsNoObjectOfStrings(json: String) {
        #expect(throws: SigningError.invalidPrivateKey("the key file is not a JSON object of strings")) {
            try ServiceAccount(json: json)
        }
    }
}
