import Foundation
import TestSupport
import Testing

/// Cookies of a CDN, checked by one that reads them as CloudFront's documentation says, with `openssl`.
@Suite(.timeLimit(.minutes(3))) struct CDNCookieTests {
    /// A distribution of CloudFront with one trusted key.
    private struct CloudFront: Sendable {
        let keyFile: String

        /// Whether a request passes: the signature is that of the policy, and the policy opens the URL now, from there.
        func admits(_ url: String, _ cookies: [String: String], from address: String = "127.0.0.1") throws -> Bool {
            guard cookies["CloudFront-Key-Pair-Id"] == "K2JCJMDEHXQW5F",
                let signature = cookies["CloudFront-Signature"].flatMap(Self.decoded)
            else { return false }
            let policy: Data
            if let custom = cookies["CloudFront-Policy"] {
                guard let decoded = Self.decoded(custom) else { return false }
                policy = decoded
            } else {
                let end = cookies["CloudFront-Expires"] ?? ""
                policy = Data(
                    #"{"Statement":[{"Resource":"\#(url)","Condition":{"DateLessThan":{"AWS:EpochTime":\#(end)}}}]}"#
                        .utf8)
            }
            guard try isSigned(policy, signature, cookies["CloudFront-Hash-Algorithm"]) else { return false }
            let root = try JSONSerialization.jsonObject(with: policy) as? [String: [[String: Any]]]
            let statement = try #require(root?["Statement"]?.first)
            let conditions = try #require(statement["Condition"] as? [String: [String: Any]])
            let end = try #require(conditions["DateLessThan"]?["AWS:EpochTime"] as? Int)
            let source = conditions["IpAddress"]?["AWS:SourceIp"] as? String
            return Date().timeIntervalSince1970 < TimeInterval(end) && (source ?? "\(address)/32") == "\(address)/32"
                && Self.matches((statement["Resource"] as? String ?? "")[...], url[...])
        }

        private func isSigned(_ policy: Data, _ signature: Data, _ algorithm: String?) throws -> Bool {
            let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
            defer { try? FileManager.default.removeItem(at: file) }
            try signature.write(to: file)
            let hash = algorithm == "SHA256" ? "-sha256" : "-sha1"
            return try OpenSSL.run(
                ["dgst", hash, "-verify", keyFile, "-signature", file.path], input: Array(policy)
            ).status == 0
        }

        private static func decoded(_ text: String) -> Data? {
            Data(
                base64Encoded: text.replacing("-", with: "+").replacing("_", with: "=").replacing("~", with: "/"))
        }

        private static func matches(_ pattern: Substring, _ text: Substring) -> Bool {
            guard let first = pattern.first else { return text.isEmpty }
            if first == "*" {
                return matches(pattern.dropFirst(), text) || (!text.isEmpty && matches(pattern, text.dropFirst()))
            }
            guard let next = text.first, first == "?" || first == next else { return false }
            return matches(pattern.dropFirst(), text.dropFirst())
        }
    }

    private struct Site: Sendable {
        let deployment: Deployment
        let network: CloudFront
        let user: User
        let grantID: String
        let credentialID: String

        func ask(
            _ prefix: String, _ changes: [String: JSON] = [:], headers: [(name: String, value: String)] = []
        ) async throws -> Answer {
            let wish: JSON = ["bucket": "photos", "prefix": "\(prefix)"]
            let answer = try await user.client.call("POST", "/v1/cdn-cookies", wish.with(changes), headers: headers)
            deployment.keepSecret(cookiesOf: answer)
            return answer
        }

        /// The cookies of an answer.
        func cookies(_ answer: Answer) -> [String: String] { answer.json["cookies"].members.compactMapValues(\.text) }
    }

    private func with(
        signing: [String: JSON] = [:], settings: [String: String] = [:],
        _ body: @Sendable (Site) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "cookies-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "public.pem")
        let (status, key) = try OpenSSL.run(["pkey", "-pubout"], input: Array(TestKey.pem.utf8))
        try #require(status == 0)
        try Data(key).write(to: file)
        try await Deployment.with(settings: settings) { deployment in
            let credential = try await deployment.create(
                "storage-credentials",
                ["name": "of the CDN", "keyPair": ["id": "K2JCJMDEHXQW5F", "privateKey": "\(TestKey.pem)"]])
            let id = try #require(credential["id"].text)
            let scheme: JSON = ["scheme": "cloudfront", "credentialID": "\(id)"]
            try await deployment.makeBucket(
                "photos",
                options: [
                    "publicEndpoints": ["cdn": ["url": "https://cdn.example", "signing": scheme.with(signing)]]
                ])
            let user = try await deployment.makeUser("alice")
            let grant = try await deployment.grant(
                ["GetObject"], to: user.principal, in: "photos", prefix: "films/",
                options: ["conditions": ["allowResponseContentType": true, "allowVersions": true]])
            try await body(
                Site(
                    deployment: deployment, network: CloudFront(keyFile: file.path), user: user, grantID: grant,
                    credentialID: id))
        }
    }

    @Test func `the CDN opens the prefix, and nothing else`() async throws {
        try await with { site in
            let answer = try await site.ask("films/ä 1/", ["expiresIn": 3600])
            #expect(answer.status == 201 && answer.json["expiresIn"] == 3600, "\(answer.text)")
            let url = try #require(answer.json["url"].text)
            #expect(url == "https://cdn.example/films/%C3%A4%201/")
            #expect(answer.json["domain"] == "cdn.example" && answer.json["path"] == "/films/%C3%A4%201/")
            let cookies = site.cookies(answer)
            for name in ["index.m3u8", "720p/0001.ts", ""] {
                #expect(try site.network.admits(url + name, cookies), "\(name)")
            }
            for other in [
                "https://cdn.example/films/%C3%A4%201", "https://cdn.example/films/2/a",
                "https://cdn.example/films/%C3%A4%2012/a", "https://other.example/films/%C3%A4%201/a",
            ] { #expect(try !site.network.admits(other, cookies), "\(other)") }
            for name in cookies.keys {
                var changed = cookies
                changed[name] = "x" + (cookies[name] ?? "")
                #expect(try !site.network.admits(url + "a", changed), "\(name)")
            }

            let one = try await site.ask("films/a (1).mp4", ["expiresIn": 1])
            let place = try #require(one.json["url"].text)
            #expect(Set(site.cookies(one).keys).contains("CloudFront-Expires"), "\(one.text)")
            for end in ["?versionId=1", "x", "/"] {
                #expect(try !site.network.admits(place + end, site.cookies(one)), "\(end)")
            }
            let end = try Date(try #require(one.json["expiresAt"].text), strategy: .iso8601)
            let isAdmitted = try site.network.admits(place, site.cookies(one))
            if Date() < end { #expect(isAdmitted) }
            try await waitUntil("the cookies have ended", seconds: 10) { Date() >= end }
            #expect(try !site.network.admits(place, site.cookies(one)))
        }
    }

    @Test func `each is on record and counted, and a revoked grant gives no more`() async throws {
        try await with { site in
            try await site.deployment.quota(2, for: site.user.principal)
            let headers = [(name: "Idempotency-Key", value: UUID().uuidString)]
            let first = try await site.ask("films/1/", headers: headers)
            let again = try await site.ask("films/1/", headers: headers)
            #expect(first.json["cookies"] == again.json["cookies"] && again["Idempotency-Replayed"] == "true")
            #expect(try await site.ask("films/1.mp4").status == 201)
            let third = try await site.ask("films/2/")
            #expect(third.status == 429 && third.json["code"] == "QuotaExceeded", "\(third.text)")

            let id = try #require(first.json["id"].text)
            let row = try await site.deployment.admin.call("GET", "/admin/v1/issuances/\(id)").json
            #expect(row["delivery"] == "cdn-cookies" && row["key"] == "films/1/" && row["method"] == "GET", "\(row)")
            #expect(row["actions"] == ["GetObject"] && row["grantID"] == .string(site.grantID))
            #expect(row["credentialID"] == .string(site.credentialID) && row["expiresAt"] == first.json["expiresAt"])
            let listed = try await site.deployment.admin.call("GET", "/admin/v1/issuances?delivery=cdn-cookies")
            #expect(listed.json["items"].items.count == 2, "\(listed.text)")
            let explained = try await site.deployment.admin.call(
                "POST", "/admin/v1/explain", ["issuanceID": "\(id)"])
            #expect(explained.json["decidedBy"]["id"] == .string(site.grantID), "\(explained.text)")
            let radius = try await site.deployment.admin.call(
                "GET", "/admin/v1/storage-credentials/\(site.credentialID)/blast-radius")
            #expect(radius.json["count"] == 2 && radius.json["sessions"].items.count == 2, "\(radius.text)")
            let page = try await site.deployment.client().call("GET", "/metrics").text
            let series = #"sluice_issued_total{delivery="cdn-cookies",scheme="cloudfront",action="GetObject"} "#
            #expect(page.contains(series) && !page.contains(series + "0"))

            let bob = try await site.deployment.makeUser("bob")
            let other = try await site.deployment.grant(
                ["GetObject"], to: bob.principal, in: "photos", prefix: "films/",
                options: ["conditions": ["allowResponseContentType": true, "allowVersions": true]])
            let wish: JSON = ["bucket": "photos", "prefix": "films/"]
            func asked() async throws -> Int {
                let answer = try await bob.client.call("POST", "/v1/cdn-cookies", wish)
                site.deployment.keepSecret(cookiesOf: answer)
                return answer.status
            }
            #expect(try await asked() == 201)
            let deleted = try await site.deployment.admin.call("DELETE", "/admin/v1/grants/\(other)")
            #expect(deleted.status == 204, "\(deleted.text)")
            #expect(try await asked() == 403)
        }
    }

    @Test func `the hash and the caller's address are bound as the bucket says`() async throws {
        try await with(signing: ["hash": "SHA-256", "bindsSourceAddress": true]) { site in
            for prefix in ["films/1/", "films/1.mp4"] {
                let answer = try await site.ask(prefix)
                let cookies = site.cookies(answer)
                let url = try #require(answer.json["url"].text)
                #expect(cookies["CloudFront-Hash-Algorithm"] == "SHA256" && cookies.count == 4, "\(answer.text)")
                #expect(try site.network.admits(url, cookies))
                #expect(try !site.network.admits(url, cookies, from: "127.0.0.2"))
                #expect(try !site.network.admits(url, cookies.filter { $0.key != "CloudFront-Hash-Algorithm" }))
            }
        }
    }

    /// Otherwise one key would make links for any number of people, of which one is on record.
    @Test(arguments: ["/v1/cdn-cookies", "/v1/presigned-urls"])
    func `what works from one address is issued again for that address alone`(path: String) async throws {
        try await with(
            signing: ["bindsSourceAddress": true], settings: ["SLUICE_TRUSTED_PROXIES": "127.0.0.1/32"]
        ) { site in
            try await site.deployment.quota(2, for: site.user.principal)
            let key = UUID().uuidString
            func ask(from address: String) async throws -> Answer {
                let wish: JSON =
                    path.hasSuffix("urls")
                    ? ["action": "GetObject", "bucket": "photos", "key": "films/1.mp4", "endpoint": "cdn"]
                    : ["bucket": "photos", "prefix": "films/1/"]
                let answer = try await site.user.client.call(
                    "POST", path, wish, headers: [("Idempotency-Key", key), ("X-Forwarded-For", address)])
                site.deployment.keepSecret(cookiesOf: answer)
                return answer
            }
            let first = try await ask(from: "198.51.100.1")
            #expect(first.status == 201, "\(first.text)")
            let second = try await ask(from: "198.51.100.2")
            #expect(second.status == 201 && second.json["id"] != first.json["id"], "\(second.text)")
            #expect(second["Idempotency-Replayed"] == nil)
            #expect(try await ask(from: "198.51.100.3").code == "QuotaExceeded")
            for (address, answer) in [("198.51.100.1", first), ("198.51.100.2", second)] {
                let again = try await ask(from: address)
                #expect(
                    again.json["id"] == answer.json["id"] && again["Idempotency-Replayed"] == "true", "\(again.text)")
                #expect(again.json["url"] == answer.json["url"] && again.json["cookies"] == answer.json["cookies"])
            }
            #expect(try await site.deployment.number("SELECT count(*) FROM issuances") == 2)
        }
    }

    /// At the root of a bucket the CDN shows the list of its objects, so these cookies are for two actions.
    @Test(arguments: [false, true])
    func `cookies of a whole bucket are on record with both actions`(isRepeated: Bool) async throws {
        try await with { site in
            try await site.deployment.grant(
                ["GetObject", "ListObjects"], to: site.user.principal, in: "photos",
                options: ["conditions": ["allowResponseContentType": true, "allowVersions": true]])
            let headers = isRepeated ? [(name: "Idempotency-Key", value: UUID().uuidString)] : []
            let answer = try await site.ask("", headers: headers)
            #expect(answer.status == 201, "\(answer.text)")
            #expect(try site.network.admits("https://cdn.example/films/1.mp4", site.cookies(answer)))
            let id = try #require(answer.json["id"].text)
            let row = try await site.deployment.admin.call("GET", "/admin/v1/issuances/\(id)").json
            #expect(row["actions"] == ["GetObject", "ListObjects"] && row["key"] == "", "\(row)")
            guard isRepeated else { return }
            let again = try await site.ask("", headers: headers)
            #expect(again.json["cookies"] == answer.json["cookies"] && again["Idempotency-Replayed"] == "true")
        }
    }

    @Test func `what cookies cannot hold to is refused`() async throws {
        try await with { site in
            for (prefix, status, code) in [
                ("", 422, "NotEnforceable"), ("films", 403, "AccessDenied"), ("other/", 403, "AccessDenied"),
                ("films/*", 400, "InvalidArgument"), ("films/?/", 400, "InvalidArgument"),
            ] {
                let answer = try await site.ask(prefix)
                #expect(answer.status == status && answer.json["code"] == .string(code), "\(prefix): \(answer.text)")
            }
            try await site.deployment.grant(
                ["GetObject"], to: "*", in: "photos", prefix: "films/secret/", options: ["effect": "deny"])
            #expect(try await site.ask("films/").status == 422)
            #expect(try await site.ask("films/secret/a.mp4").status == 403)
            #expect(try await site.ask("films/open/").status == 201)
            try await site.deployment.makeBucket("plain")
            try await site.deployment.grant(
                ["GetObject"], to: site.user.principal, in: "plain",
                options: ["conditions": ["allowResponseContentType": true, "allowVersions": true]])
            let plain = try await site.ask("films/", ["bucket": "plain"])
            #expect(plain.status == 422 && plain.json["detail"].text?.contains("CloudFront") == true, "\(plain.text)")
        }
    }
}

extension Deployment {
    /// Registers the cookies that must not appear in the logs.
    fileprivate func keepSecret(cookiesOf answer: Answer) {
        for name in ["CloudFront-Policy", "CloudFront-Signature"] {
            if let value = answer.json["cookies"][name].text { keepSecret(value) }
        }
    }
}
