import Bytes
import Foundation
import HTTPTesting
import LibCrypto
import TestSupport
import Testing

/// Sign-in to the console at a real OpenID provider, by the steps of a browser.
@Suite(.python(with: "a provider"), .timeLimit(.minutes(3)))
struct SignInTests {
    private static let console = "https://console.example"

    /// A provider, which is stopped with its last reference.
    final class Provider: Sendable {
        let process: RunningProcess
        /// Its name, an origin.
        let name: String
        let port: UInt16

        init(_ options: [String]) async throws {
            let python = try Python.path
            let folder = try #require(
                Bundle.module.url(forResource: "SignIn", withExtension: nil), "the provider is a resource")
            let process = try RunningProcess(
                [python, "-B", folder.appending(path: "provider.py").path(percentEncoded: false)] + options,
                environment: [:])
            try await waitUntil("the provider listens") {
                try #require(process.isRunning, "\(process.errors)")
                return process.output.hasSuffix("\n")
            }
            self.process = process
            name = process.output.trimmingCharacters(in: .newlines)
            port = try RawURL(name).port
        }

        /// Sends it a form or JSON.
        func call(
            _ method: String, _ target: String, _ body: String, type: String = "application/x-www-form-urlencoded",
            origin: String? = nil
        ) async throws -> RawResponse {
            var fields = [
                (name: "Host", value: "127.0.0.1:\(port)"), (name: "Connection", value: "close"),
                (name: "Content-Type", value: type), (name: "Content-Length", value: "\(body.utf8.count)"),
            ]
            if let origin { fields.append((name: "Origin", value: origin)) }
            return try await RawRequest(method, target, headers: fields, body: Array(body.utf8)).answer(fromPort: port)
        }

        /// Lets a user sign in and exchanges the code, as the console does with these endpoints.
        func signIn(
            _ user: String, by offer: JSON, verifier: String = "a-verifier-of-at-least-43-characters-as-RFC-7636-asks",
            shown: String? = nil
        ) async throws -> RawResponse {
            func target(_ endpoint: String) throws -> String { try RawURL(offer[endpoint].text ?? "").target }
            let challenge = Base64URL.encode(DigestAlgorithm.sha256.digest(of: Array(verifier.utf8)).bytes)
            let redirect = "\(SignInTests.console)/console/"
            let query = [
                "response_type=code", "client_id=\(offer["clientID"].text ?? "")", "redirect_uri=\(redirect)",
                "scope=\(offer["scopes"].items.compactMap(\.text).joined(separator: "%20"))", "state=the-state",
                "nonce=\(UUID().uuidString)", "code_challenge=\(challenge)", "code_challenge_method=S256",
            ]
            let agreed = try await call(
                "POST", "\(try target("authorizationEndpoint"))?\(query.joined(separator: "&"))", "sub=\(user)")
            let location = try #require(agreed["Location"], "\(agreed.text)")
            let answer = try #require(URLComponents(string: location)?.queryItems)
            #expect(answer.first { $0.name == "state" }?.value == "the-state")
            if offer["namesItself"] == true { #expect(answer.first { $0.name == "iss" }?.value == name) }
            let code = try #require(answer.first { $0.name == "code" }?.value)
            let form = [
                "grant_type=authorization_code", "code=\(code)", "client_id=\(offer["clientID"].text ?? "")",
                "redirect_uri=\(redirect)", "code_verifier=\(shown ?? verifier)",
            ]
            return try await call(
                "POST", try target("tokenEndpoint"), form.joined(separator: "&"), origin: SignInTests.console)
        }
    }

    /// Outcomes by step.
    private func outcomes(_ validation: Answer) -> [String: String] {
        Dictionary(
            validation.json["steps"].items.map { ($0["step"].text ?? "", $0["outcome"].text ?? "") }
        ) { first, _ in first }
    }

    @Test func `an admin signs in at a provider that the gateway discovers, and the audit names the person`()
        async throws
    {
        let provider = try await Provider(["--origin", Self.console])
        try await Deployment.with(settings: ["SLUICE_OUTBOUND_ALLOW": provider.name]) { site in
            for (user, roles) in [("alice", #"{"roles":["admin"]}"#), ("bob", #"{"roles":["reader"]}"#)] {
                let answer = try await provider.call("PUT", "/users/\(user)", roles, type: "application/json")
                try #require(answer.status == 204)
            }
            let anonymous = site.client()
            #expect(try await anonymous.call("GET", "/console/config.json").json["issuers"].items.isEmpty)
            let row = try await site.create(
                "issuers",
                [
                    "issuer": "\(provider.name)", "audiences": ["sluice-console"], "algorithms": ["RS256"],
                    "keys": ["url": "\(provider.name)/jwks"], "principalPrefix": "corp:", "groupPrefix": "corp:",
                    "rolesClaim": "roles", "roles": [["role": "admin", "values": ["admin"]]],
                    "console": ["clientID": "sluice-console", "scopes": ["openid", "profile"], "send": "id_token"],
                ])
            let id = try #require(row["id"].text)

            // What the page learns.
            try await waitUntil("the page knows the issuer") {
                try await !anonymous.call("GET", "/console/config.json").json["issuers"].items.isEmpty
            }
            let offer = try #require(
                try await anonymous.call("GET", "/console/config.json").json["issuers"].items.first)
            #expect(offer["authorizationEndpoint"].text == "\(provider.name)/oauth2/authorize")
            #expect(offer["tokenEndpoint"].text == "\(provider.name)/oauth2/token")
            #expect(offer["id"].text == id && offer["namesItself"] == true)
            let page = try await anonymous.call("GET", "/console/")
            #expect(page["Content-Security-Policy"]?.contains("connect-src 'self' \(provider.name);") == true)

            // What an admin learns.
            let good = try await site.admin.call(
                "POST", "/admin/v1/issuers/\(id):validate", ["origin": "\(Self.console)"])
            #expect(good.json["valid"] == true, "\(good.text)")
            for step in ["endpoints", "pkce", "client", "cors", "token"] {
                #expect(outcomes(good)["sign-in-\(step)"] == "passed", "\(step)")
            }
            let elsewhere = try await site.admin.call(
                "POST", "/admin/v1/issuers/\(id):validate", ["origin": "https://elsewhere.example"])
            #expect(elsewhere.json["valid"] == false && outcomes(elsewhere)["sign-in-cors"] == "failed")

            // The sign-in.
            let stolen = try await provider.signIn("alice", by: offer, shown: String(repeating: "x", count: 43))
            #expect(stolen.status == 400, "a code is worth nothing without its verifier")
            let answer = try await provider.signIn("alice", by: offer)
            #expect(answer.status == 200 && answer["Access-Control-Allow-Origin"] == Self.console, "\(answer.text)")
            let tokens = try JSON(answer.body)
            let token = try #require(tokens["id_token"].text)
            site.keepSecret(token)
            let alice = site.client(token: token)
            #expect(try await alice.call("GET", "/admin/v1/issuers").json["items"].items.count == 1)
            let member = try await alice.call("POST", "/admin/v1/groups/group:staff/members", ["member": "user:bob"])
            #expect(member.status == 201, "\(member.text)")
            let audit = try await alice.call("GET", "/admin/v1/audit?actor=user:corp:alice")
            #expect(audit.json["items"].items.first?["kind"] == "GroupMember", "\(audit.text)")
            let judged = try await site.admin.call(
                "POST", "/admin/v1/issuers/\(id):validate", ["token": "\(token)", "origin": "\(Self.console)"])
            #expect(judged.json["valid"] == true && judged.json["bearer"]["principal"] == "user:corp:alice")

            // The access token is opaque, and other users are no admins.
            let opaque = try #require(tokens["access_token"].text)
            site.keepSecret(opaque)
            #expect(try await site.client(token: opaque).call("GET", "/admin/v1/issuers").status == 401)
            let other = try JSON(try await provider.signIn("bob", by: offer).body)
            let bob = site.client(token: try #require(other["id_token"].text))
            #expect(try await bob.call("GET", "/admin/v1/issuers").status == 403)

            // The commands follow the contract.
            let environment = [
                "SLUICE_ADMIN_URL": "http://127.0.0.1:\(site.gateways[0].port)", "SLUICE_ADMIN_KEY": token,
            ]
            let command = try RunningProcess(
                [Program.path, "admin", "issuers", "validate", id, "--origin", Self.console, "--json"],
                environment: environment)
            #expect(await command.exitStatus() == 0, "\(command.errors)")
            #expect(command.output.contains("sign-in-cors"))
        }
    }

    @Test func `a provider without public clients, PKCE and CORS is found out`() async throws {
        let provider = try await Provider(["--bare"])
        try await Deployment.with(settings: ["SLUICE_OUTBOUND_ALLOW": provider.name]) { site in
            let row = try await site.create(
                "issuers",
                [
                    "issuer": "\(provider.name)", "audiences": ["sluice"], "algorithms": ["RS256"],
                    "keys": ["url": "\(provider.name)/jwks"], "principalPrefix": "", "groupPrefix": "",
                    "console": ["clientID": "sluice-console", "send": "id_token"],
                ])
            let answer = try await site.admin.call(
                "POST", "/admin/v1/issuers/\(try #require(row["id"].text)):validate", ["origin": "\(Self.console)"])
            #expect(answer.json["valid"] == false)
            let outcomes = outcomes(answer)
            #expect(outcomes["sign-in-endpoints"] == "passed" && outcomes["sign-in-pkce"] == "warned")
            #expect(outcomes["sign-in-client"] == "failed" && outcomes["sign-in-cors"] == "failed")
            #expect(outcomes["sign-in-token"] == "failed", "the audiences lack the client")
            #expect(outcomes["key-set"] == "passed", "its tokens are accepted all the same")
        }
    }
}
