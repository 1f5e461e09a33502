import Foundation
import Testing

/// Tokens signed by OpenSSL, so that the gateway is not only checked against itself.
@Suite(.deployment) struct TokenTests {
    /// An issuer of tokens with its own RSA key. Its folder is deleted with it.
    final class TokenIssuer: Sendable {
        let folder: URL
        let name: String

        init(_ name: String) async throws {
            self.name = name
            folder = FileManager.default.temporaryDirectory.appending(path: "sluice-issuer-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            _ = try await shell("openssl genrsa -out key.pem 2048 2>&1")
        }

        deinit {
            try? FileManager.default.removeItem(at: folder)
        }

        /// Runs a shell command in the folder of the key; returns its output.
        func shell(_ line: String) async throws -> String {
            let process = try RunningProcess(
                ["/bin/bash", "-euo", "pipefail", "-c", line], environment: [:], folder: folder)
            let status = await process.exitStatus()
            guard status == 0 else { throw ProgramError(status: status, output: process.errors) }
            return process.output.trimmingCharacters(in: .newlines)
        }

        /// The public key as a key set.
        func keySet() async throws -> JSON {
            let digits = Array(try await shell("openssl rsa -in key.pem -noout -modulus | cut -d = -f 2"))
            let modulus = stride(from: 0, to: digits.count, by: 2).compactMap {
                UInt8(String(digits[$0...($0 + 1)]), radix: 16)
            }
            let key: JSON = [
                "kty": "RSA", "kid": "first", "use": "sig", "alg": "RS256", "n": "\(Self.encoded(modulus))",
                "e": "AQAB",
            ]
            return ["keys": [key]]
        }

        /// A signed token with these claims.
        func token(_ claims: [String: JSON], header: [String: JSON] = [:]) async throws -> String {
            let now = Int(Date().timeIntervalSince1970)
            let standard: JSON = [
                "iss": "\(name)", "aud": "sluice", "sub": "alice", "iat": .number(now), "exp": .number(now + 300),
            ]
            let head: JSON = ["alg": "RS256", "typ": "JWT", "kid": "first"]
            let signed = Self.encoded(try head.with(header).bytes) + "." + Self.encoded(try standard.with(claims).bytes)
            let signature = try await shell(
                "printf %s '\(signed)' | openssl dgst -sha256 -sign key.pem -binary | base64 -w 0 | tr '+/' '-_' | tr -d ="
            )
            return signed + "." + signature
        }

        static func encoded(_ bytes: [UInt8]) -> String {
            Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
                .replacing("=", with: "")
        }
    }

    @Test func `a token of a configured issuer is the user it names, with its groups`() async throws {
        let site = try Deployment.current
        let issuer = try await TokenIssuer("https://id.example")
        let row = try await site.create(
            "issuers",
            [
                "issuer": "https://id.example", "audiences": ["sluice"], "algorithms": ["RS256"],
                "principalPrefix": "id:", "groupPrefix": "id:", "groupsClaim": "groups", "usableClaims": ["tenant"],
                "keys": ["inline": try await issuer.keySet()],
            ])
        try await site.makeBucket("tokens")
        try await site.grant(["GetObject"], to: "user:id:alice", in: "tokens", prefix: "own/")
        try await site.grant(["GetObject"], to: "group:id:staff", in: "tokens", prefix: "staff/")
        try await site.create(
            "grants",
            [
                "principal": "*", "bucket": "tokens", "template": "tenants/${claim:tenant}/", "actions": ["GetObject"],
            ])

        let token = try await issuer.token(["groups": ["staff"], "tenant": "acme"])
        site.keepSecret(token)
        let alice = site.client(token: token)
        let issued = try await alice.ask(.download("own/k", from: "tokens"))
        #expect(issued.status == 201, "\(issued.text)")
        #expect(try await alice.ask(.download("staff/k", from: "tokens")).status == 201)
        #expect(try await alice.ask(.download("tenants/acme/k", from: "tokens")).status == 201)
        #expect(try await alice.ask(.download("tenants/other/k", from: "tokens")).status == 403)
        #expect(try await alice.call("GET", "/v1/access").json["principal"] == "user:id:alice")
        #expect(try await alice.call("GET", "/admin/v1/grants").status == 403)
        let bob = site.client(token: try await issuer.token(["sub": "bob"]))
        #expect(try await bob.ask(.download("own/k", from: "tokens")).status == 403)

        try await expectRefusals(of: issuer, token, at: site)

        // The user with the same name and an API key of this gateway is another principal.
        let namesake = try await site.makeUser("alice")
        #expect(try await namesake.ask(.download("own/k", from: "tokens")).status == 403)

        try await site.delete("issuers", try #require(row["id"].text))
        #expect(try await alice.ask(.download("own/k", from: "tokens")).status == 401)
    }

    private func expectRefusals(of issuer: TokenIssuer, _ token: String, at site: Deployment) async throws {
        let past = Int(Date().timeIntervalSince1970) - 3600
        let parts = token.split(separator: ".")
        let none = TokenIssuer.encoded(Array(#"{"alg":"none","typ":"JWT"}"#.utf8)) + "." + parts[1] + "."
        let impostor = try await TokenIssuer("https://id.example")
        let stranger = try await TokenIssuer("https://other.example")
        let eve = TokenIssuer.encoded(
            Array(#"{"iss":"https://id.example","aud":"sluice","sub":"eve","exp":9999999999}"#.utf8))
        let refused: [(String, String)] = [
            ("another audience", try await issuer.token(["aud": "other"])),
            ("expired", try await issuer.token(["exp": .number(past)])),
            ("not yet valid", try await issuer.token(["nbf": .number(past + 7200)])),
            ("no end", try await issuer.token(["exp": .null])),
            ("no subject", try await issuer.token(["sub": .null])),
            ("no algorithm", none),
            ("another algorithm in the head", try await issuer.token([:], header: ["alg": "HS256"])),
            ("another key", try await impostor.token([:])),
            ("an unknown key's name", try await issuer.token([:], header: ["kid": "second"])),
            ("an unknown issuer", try await stranger.token([:])),
            ("other claims under the signature", "\(parts[0]).\(eve).\(parts[2])"),
            ("a signature cut short", String(token.dropLast(4))),
        ]
        for (what, token) in refused {
            site.keepSecret(token)
            let client = site.client(token: token)
            for answer in [
                // First an operation for which no ledger checks the token again.
                try await client.call("GET", "/v1/access"), try await client.ask(.download("own/k", from: "tokens")),
            ] {
                #expect(answer.status == 401, "\(what): \(answer.text)")
                #expect(answer.code == (what == "expired" ? "ExpiredToken" : "Unauthenticated"), "\(what)")
            }
        }
    }

    @Test func `roles come from an issuer only where the row says so`() async throws {
        let site = try Deployment.current
        for (name, mayConfer) in [("https://trusted.example", true), ("https://plain.example", false)] {
            let issuer = try await TokenIssuer(name)
            var row: JSON = [
                "issuer": "\(name)", "audiences": ["sluice"], "algorithms": ["RS256"], "principalPrefix": "\(name):",
                "groupPrefix": "\(name):", "rolesClaim": "roles", "keys": ["inline": try await issuer.keySet()],
            ]
            if mayConfer { row["roles"] = [["role": "auditor", "values": ["auditor"]]] }
            try await site.create("issuers", row)
            let token = try await issuer.token(["roles": ["auditor", "admin"]])
            site.keepSecret(token)
            let client = site.client(token: token)
            #expect(try await client.call("GET", "/admin/v1/grants").status == (mayConfer ? 200 : 403))
            #expect(try await client.call("POST", "/admin/v1/grants", [:]).status == 403)
        }
    }
}
