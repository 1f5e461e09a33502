import Foundation
import HTTPTesting
import TestSupport
import Testing

/// Links to a CDN, checked by the module `secure_link` of a real nginx.
@Suite(.enabled(if: Nginx.isThere || Surroundings.areRequired, "nginx is not installed"), .timeLimit(.minutes(3)))
struct CDNLinkTests {
    private static let body = Array("the bytes of an object".utf8)
    private static let secret = "shared-\(UUID().uuidString)"

    private struct Site: Sendable {
        let nginx: Nginx
        let deployment: Deployment
        let user: User
        let credentialID: String

        /// Puts an object into the store by a link.
        func put(_ key: String) async throws {
            let answer = try await user.ask(
                JSON.upload(key, to: "photos").with(["contentLength": .number(CDNLinkTests.body.count)]))
            #expect(try await Link(answer.json).use(CDNLinkTests.body).status == 201, "\(answer.text)")
        }

        /// Asks for a link to the CDN.
        func ask(_ key: String, _ changes: [String: JSON] = [:]) async throws -> Answer {
            let answer = try await user.ask(
                JSON.download(key, from: "photos").with(["endpoint": "cdn"]).with(changes))
            if let url = answer.json["url"].text { deployment.keepSecret(url) }
            return answer
        }
    }

    private func with(_ body: @Sendable (Site) async throws -> Void) async throws {
        let nginx = try await Nginx.start(secret: Self.secret)
        let settings = ["SLUICE_OUTBOUND_ALLOW": "\(nginx.store),\(nginx.cdn)"]
        try await Deployment.with(settings: settings) { deployment in
            deployment.keepSecret(Self.secret)
            let credential = try await deployment.create(
                "storage-credentials",
                ["name": "of the CDN", "accessKeyID": "main", "secretAccessKey": "\(Self.secret)"])
            let id = try #require(credential["id"].text)
            let signing: JSON = ["scheme": "nginx-secure-link", "credentialID": "\(id)"]
            try await deployment.makeBucket(
                "photos", endpoint: nginx.store,
                options: [
                    "publicEndpoints": ["cdn": ["url": "\(nginx.cdn)", "signing": signing]], "allowsRedirects": true,
                ])
            let user = try await deployment.makeUser("alice")
            try await deployment.grant(
                ["PutObject", "GetObject", "ListObjects", "DeleteObject"], to: user.principal, in: "photos",
                options: ["conditions": ["allowResponseContentType": true, "allowVersions": true]])
            try await body(Site(nginx: nginx, deployment: deployment, user: user, credentialID: id))
        }
        await nginx.end()
    }

    @Test func `nginx takes a link for what it names, and nothing else`() async throws {
        try await with { site in
            for key in ["a.png", "team/a b+c&d=e.png", "team/100%/ü日本~'(1)!?.png"] {
                try await site.put(key)
                let answer = try await site.ask(key)
                let link = try Link(answer.json)
                #expect(link.url.hasPrefix(site.nginx.cdn + "/") && link.headers.isEmpty, "\(answer.text)")
                #expect(answer.json["enforcedBy"] == "none" && answer.json["expiresIn"] == 900)
                let got = try await link.use()
                #expect(got.status == 200 && got.body == Self.body, "\(key): \(got.status)")
            }
            let link = try Link(try await site.ask("a.png").json)
            let expires = try #require(link.url.split(separator: "&expires=").last.flatMap { Int($0) })
            for (change, status) in [
                ({ $0.replacing("/a.png?", with: "/team/a%20b+c&d=e.png?") }, 403),
                ({ $0.replacing("/a.png?", with: "/b.png?") }, 403),
                ({ $0.replacing("=\(expires)", with: "=\(expires + 1)") }, 403),
                ({ $0.replacing("=\(expires)", with: "=\(expires - 900)") }, 403),
                ({ $0.replacing("md5=", with: "md5=A") }, 403),
                ({ String($0.prefix { $0 != "?" }) }, 403),
                ({ $0 + "&response-content-type=text/html" }, 200),
            ] as [((String) -> String, Int)] {
                var other = link
                other.url = change(link.url)
                #expect(try await other.use().status == status, "\(other.url)")
            }
            // A link does not name its method: the CDN lets no other pass than GET and HEAD.
            for (method, status) in [("HEAD", 200), ("PUT", 403), ("DELETE", 403)] {
                var other = link
                other.method = method
                #expect(try await other.use().status == status, "\(method)")
            }
        }
    }

    @Test func `a link is dead at the end that the answer names`() async throws {
        try await with { site in
            try await site.put("a.png")
            let answer = try await site.ask("a.png", ["expiresIn": 1])
            let link = try Link(answer.json)
            let text = try #require(answer.json["expiresAt"].text)
            let end = try Date(text, strategy: .iso8601)
            try await waitUntil("the link has ended", seconds: 10) { Date() >= end }
            // The clocks of both are one.
            #expect(try await link.use().status == 410)
        }
    }

    @Test func `every delivery of a download leads to the CDN, and each is recorded`() async throws {
        try await with { site in
            try await site.put("a.png")
            let redirect = try await site.user.client.call("GET", "/v1/objects/photos/a.png?endpoint=cdn")
            let location = try #require(redirect["Location"], "\(redirect.text)")
            site.deployment.keepSecret(location)
            #expect(redirect.status == 303 && location.hasPrefix(site.nginx.cdn))
            var link = try Link(try await site.ask("a.png").json)
            link.url = location
            #expect(try await link.use().body == Self.body)

            let cdn: [String: JSON] = ["endpoint": "cdn"]
            let items: [JSON] = [
                JSON.download("a.png", from: "photos").with(cdn), .download("a.png", from: "photos"),
                JSON.download("a.png", from: "photos").with(cdn).with(["method": "HEAD"]),
                JSON.upload("a.png", to: "photos").with(cdn),
                JSON.download("a.png", from: "photos").with(cdn).with(["response": ["cacheControl": "no-cache"]]),
                ["action": "DeleteObject", "bucket": "photos", "key": "a.png", "endpoint": "cdn"],
                ["action": "ListObjects", "bucket": "photos", "prefix": "", "endpoint": "cdn"],
            ]
            let batch = try await site.user.client.call("POST", "/v1/presigned-urls/batch", ["items": .array(items)])
            let results = batch.json["results"].items
            for item in results { if let url = item["url"].text { site.deployment.keepSecret(url) } }
            #expect(results[0]["url"].text?.hasPrefix(site.nginx.cdn) == true, "\(batch.text)")
            #expect(results[1]["url"].text?.hasPrefix(site.nginx.store) == true)
            for result in results.dropFirst(2) { #expect(result["code"] == "NotEnforceable", "\(batch.text)") }

            // Three links were handed out, each with a row that names the key of the CDN.
            let rows = try await site.deployment.number(
                "SELECT count(*) FROM issuances WHERE credential_id = '\(site.credentialID)' AND action = 'GetObject'")
            #expect(rows == 3)
            let headers = [(name: "Idempotency-Key", value: UUID().uuidString)]
            let body = JSON.download("a.png", from: "photos").with(cdn)
            let first = try await site.user.ask(body, headers: headers)
            let again = try await site.user.ask(body, headers: headers)
            if let url = first.json["url"].text { site.deployment.keepSecret(url) }
            #expect(first.json["url"] == again.json["url"] && again["Idempotency-Replayed"] == "true")

            try await site.deployment.quota(0, for: site.user.principal)
            #expect(try await site.ask("a.png").status == 429)
        }
    }

    @Test func `a new key signs the next link, and the credential tells what the former one signed`() async throws {
        try await with { site in
            try await site.put("a.png")
            #expect(try await Link(try await site.ask("a.png").json).use().status == 200)
            let path = "/admin/v1/storage-credentials/\(site.credentialID)"
            let next = "next-\(UUID().uuidString)"
            site.deployment.keepSecret(next)
            let changed = try await site.deployment.admin.call(
                "PATCH", path, ["accessKeyID": "next", "secretAccessKey": "\(next)"],
                headers: [(name: "If-Match", value: "*")])
            #expect(changed.status == 200, "\(changed.text)")
            #expect(try await Link(try await site.ask("a.png").json).use().status == 403, "nginx knows the former key")
            let found = try await site.deployment.admin.call("GET", path + "/dependents")
            #expect(found.json["buckets"] == ["photos"] && found.json["alive"]["count"] == 2, "\(found.text)")
            #expect(found.json["previousKey"]["alive"]["count"] == 1, "\(found.text)")
            let kept = try await site.deployment.admin.call("DELETE", path)
            #expect(kept.status == 409, "\(kept.text)")

            let checked = try await site.deployment.admin.call("POST", "/admin/v1/buckets/photos:validate")
            let step = checked.json["steps"].items.first { $0["step"] == "endpoint" }
            #expect(step?["outcome"] == "failed" && step?["status"] == 403, "\(checked.text)")
        }
    }

    @Test func `a test of the bucket asks whether the CDN checks`() async throws {
        try await with { site in
            let checked = try await site.deployment.admin.call("POST", "/admin/v1/buckets/photos:validate")
            let steps = checked.json["steps"].items.filter { $0["endpoint"] == "cdn" }
            #expect(
                steps.map(\.["step"])
                    == ["endpoint", "unsigned-link", "expired-link", "upload-by-link", "added-parameter"],
                "\(checked.text)")
            #expect(steps.allSatisfy { $0["outcome"] == "passed" }, "\(checked.text)")
            #expect(checked.json["valid"] == true, "\(checked.text)")
        }
    }
}
