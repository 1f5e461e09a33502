import Foundation
import TestSupport
import Testing

/// The permissions of callers at the running program, as set by rows made through the admin API.
@Suite(.deployment) struct AccessTests {
    @Test func `who has no grant, and a bucket that is not there, get the same refusal`() async throws {
        let site = try Deployment.current
        try await site.makeBucket("plain-bucket")
        let alice = try await site.makeUser("plain-alice")
        let mallory = try await site.makeUser("plain-mallory")
        try await site.grant(["PutObject", "GetObject"], to: alice.principal, in: "plain-bucket", prefix: "a/")
        let issued = try await alice.ask(.upload("a/x", to: "plain-bucket"))
        #expect(issued.status == 201)
        #expect(issued.json["enforcedBy"] == "signature")
        #expect(issued.json["expiresIn"] == 900)
        for refused in [
            try await mallory.ask(.upload("a/x", to: "plain-bucket")),
            try await mallory.ask(.download("a/x", from: "no-such-bucket")),
            try await alice.ask(.download("ab", from: "plain-bucket")),
            try await alice.ask(.download("a", from: "plain-bucket")),
        ] {
            #expect(refused.status == 403)
            #expect(refused.code == "AccessDenied")
            #expect(refused.json["type"] == "/problems/access-denied")
            #expect(refused.json["detail"] == .null)
            #expect(refused["Content-Type"] == "application/problem+json")
        }
        let id = try #require(issued.json["id"].text)
        #expect(try await site.number("SELECT count(*) FROM issuances WHERE id = '\(id)'") == 1)
        for (user, bucket) in [("mallory", "plain-bucket"), ("mallory", ""), ("alice", "plain-bucket")] {
            let count = """
                SELECT coalesce(sum(count), 0) FROM denials
                WHERE principal = 'user:plain-\(user)' AND bucket = '\(bucket)' AND code = 'AccessDenied'
                """
            try await waitUntil("the refusals are on record") {
                try await site.number(count) == (user == "alice" ? 2 : 1)
            }
        }
    }

    @Test func `without a good token nothing is answered but 401`() async throws {
        let site = try Deployment.current
        let known = try await site.makeUser("known", roles: ["admin"]).client.token
        for token in [
            "", "nonsense", "a.b.c", "sluice_abcdefghijkl_\(String(repeating: "A", count: 43))",
            // The public part of an existing key.
            "\(known.prefix(20))\(String(repeating: "A", count: 43))",
        ] {
            for (method, path) in [("POST", "/v1/presigned-urls"), ("GET", "/v1/access"), ("GET", "/admin/v1/grants")] {
                let body: JSON? = method == "POST" ? .download("k", from: "plain") : nil
                let answer = try await site.client(token: token).call(method, path, body)
                #expect(answer.status == 401, "\(path) \(token)")
                #expect(answer["WWW-Authenticate"]?.hasPrefix("Bearer") == true)
            }
        }
        let user = try await site.makeUser("no-admin")
        let auditor = try await site.makeUser("auditor", roles: ["auditor"])
        #expect(try await user.client.call("GET", "/admin/v1/grants").status == 403)
        #expect(try await auditor.client.call("GET", "/admin/v1/grants").status == 200)
        #expect(try await auditor.client.call("POST", "/admin/v1/grants", [:]).status == 403)
    }

    @Test func `an admin's key past its end can change nothing`() async throws {
        let site = try Deployment.current
        let end = ISO8601DateFormatter().string(from: Date(timeIntervalSinceNow: 5))
        let made = try await site.create(
            "api-keys",
            ["name": "short", "principal": "user:short", "roles": ["admin"], "expiresAt": "\(end)"])
        let short = site.client(token: try #require(made["key"].text))
        try await waitUntil("the key has ended", seconds: 20) {
            let answer = try await short.call("GET", "/admin/v1/quotas")
            #expect(answer.status == 200 || answer.code == "ExpiredToken", "\(answer.text)")
            return answer.status == 401
        }
    }

    @Test func `groups of a key and groups of a list both count, and leaving one counts at once`() async throws {
        let site = try Deployment.current
        try await site.makeBucket("groups")
        try await site.grant(["GetObject"], to: "group:readers", in: "groups")
        let listed = try await site.makeUser("listed")
        let carrying = try await site.makeUser("carrying", groups: ["readers"])
        let request = JSON.download("k", from: "groups")
        #expect(try await carrying.ask(request).status == 201)
        #expect(try await listed.ask(request).status == 403)
        try await site.create("groups/group:readers/members", ["member": "user:listed"])
        #expect(try await listed.ask(request).status == 201)
        try await site.delete("groups/group:readers/members", "user:listed")
        #expect(try await listed.ask(request).status == 403)
    }

    @Test func `a template gives each user a folder, and a denial beats every grant`() async throws {
        let site = try Deployment.current
        try await site.makeBucket("templates")
        let (alice, bob) = (try await site.makeUser("tina"), try await site.makeUser("tom"))
        try await site.create(
            "grants",
            [
                "principal": "*", "bucket": "templates", "template": "users/${sub}/",
                "actions": ["GetObject", "PutObject"],
            ])
        #expect(try await alice.ask(.upload("users/tina/a", to: "templates")).status == 201)
        #expect(try await alice.ask(.upload("users/tom/a", to: "templates")).status == 403)
        #expect(try await bob.ask(.upload("users/tom/a", to: "templates")).status == 201)
        #expect(try await alice.ask(.upload("users/${sub}/a", to: "templates")).status == 400)

        let denial = try await site.grant(
            ["PutObject"], to: alice.principal, in: "templates", prefix: "users/tina/closed/",
            options: ["effect": "deny"])
        #expect(try await alice.ask(.upload("users/tina/closed/a", to: "templates")).code == "AccessDenied")
        #expect(try await alice.ask(.download("users/tina/closed/a", from: "templates")).status == 201)
        #expect(try await alice.ask(.upload("users/tina/open", to: "templates")).status == 201)
        try await site.delete("grants", denial)
        #expect(try await alice.ask(.upload("users/tina/closed/a", to: "templates")).status == 201)
    }

    @Test func `a condition that does not hold is named, and what it allows is issued`() async throws {
        let site = try Deployment.current
        try await site.makeBucket("conditions")
        let user = try await site.makeUser("careful")
        try await site.grant(
            ["PutObject"], to: user.principal, in: "conditions",
            options: [
                "conditions": [
                    "contentTypes": ["image/*"], "maxBytes": 100, "requireContentMD5": true, "maxTTL": 60,
                    "sourceCIDRs": ["127.0.0.0/8"],
                ]
            ])
        let good = JSON.upload("k", to: "conditions").with([
            "contentType": "image/png", "contentMD5": "1B2M2Y8AsgTpgAmY7PhCfg==",
        ])
        let issued = try await user.ask(good)
        #expect(issued.status == 201, "\(issued.text)")
        #expect(issued.json["expiresIn"] == 60)
        let refusals: [([String: JSON], Int, JSON)] = [
            (["contentType": "text/html"], 403, "contentTypes"),
            (["contentType": "image/svg+xml"], 403, "contentTypes"),
            (["contentMD5": .null], 403, "requireContentMD5"),
            (["contentLength": .null], 403, "maxBytes"),
            (["contentLength": 101], 413, .null),
        ]
        for (change, status, condition) in refusals {
            let refused = try await user.ask(good.with(change))
            #expect(refused.status == status, "\(change)")
            #expect(refused.json["condition"] == condition)
        }
        #expect(try await user.ask(good.with(["contentLength": 101])).json["maxBytes"] == 100)

        let elsewhere = try await site.makeUser("elsewhere")
        try await site.grant(
            ["GetObject"], to: elsewhere.principal, in: "conditions",
            options: ["conditions": ["sourceCIDRs": ["192.0.2.0/24"]]])
        let request = JSON.download("k", from: "conditions")
        #expect(try await elsewhere.ask(request).json["condition"] == "sourceCIDRs")
        // No proxy is trusted to set this header.
        let spoofed = try await elsewhere.ask(request, headers: [(name: "X-Forwarded-For", value: "192.0.2.1")])
        #expect(spoofed.json["condition"] == "sourceCIDRs")
    }

    @Test func `a quota ends in 429, which says which and when`() async throws {
        let site = try Deployment.current
        try await site.makeBucket("quotas")
        let user = try await site.makeUser("limited")
        try await site.grant(["GetObject", "PutObject"], to: user.principal, in: "quotas")
        let quota = try await site.quota(
            2, for: user.principal, options: ["period": "day", "action": "GetObject", "bucket": "quotas"])
        let request = JSON.download("k", from: "quotas")
        let first = try await user.ask(request)
        #expect(first.status == 201)
        #expect(first["RateLimit"]?.hasPrefix("\"\(quota)\";r=1;t=") == true)
        #expect(first["RateLimit-Policy"] == "\"\(quota)\";q=2;w=86400;qu=\"requests\"")
        #expect(try await user.ask(request).status == 201)
        let refused = try await user.ask(request)
        #expect(refused.status == 429)
        #expect(refused.code == "QuotaExceeded")
        #expect(refused.json["quota"]["id"].text == quota)
        #expect(refused.json["remaining"] == 0)
        let wait = try #require(refused["Retry-After"].flatMap { Int($0) })
        #expect(1...86_400 ~= wait)
        #expect(refused["RateLimit"]?.hasPrefix("\"\(quota)\";r=0;t=") == true)
        #expect(try await user.ask(.upload("k", to: "quotas")).status == 201)
        #expect(try await site.number("SELECT used FROM quota_usage WHERE quota_id = '\(quota)'") == 2)
        try await site.delete("quotas", quota)
        #expect(try await user.ask(request).status == 201)
    }

    @Test func `a quota of bytes counts what is bound`() async throws {
        let site = try Deployment.current
        try await site.makeBucket("bytes")
        let user = try await site.makeUser("heavy")
        try await site.grant(["PutObject"], to: user.principal, in: "bytes")
        let quota = try await site.quota(
            10, for: user.principal, options: ["metric": "bytes", "period": "hour", "action": "PutObject"])
        let request = JSON.upload("k", to: "bytes")
        #expect(try await user.ask(request.with(["contentLength": .null])).json["condition"] == "maxBytes")
        #expect(try await user.ask(request.with(["contentLength": 7])).status == 201)
        let refused = try await user.ask(request.with(["contentLength": 4]))
        #expect(refused.status == 429)
        #expect(refused.json["remaining"] == 3)
        #expect(try await user.ask(request.with(["contentLength": 3])).status == 201)
        #expect(try await site.number("SELECT sum(amount) FROM reservations WHERE quota_id = '\(quota)'") == 10)
    }

    @Test func `the caller sees the own grants and what is left`() async throws {
        let site = try Deployment.current
        try await site.makeBucket("overview")
        let user = try await site.makeUser("curious", groups: ["overview"])
        try await site.grant(["GetObject"], to: user.principal, in: "overview", prefix: "own/")
        try await site.create(
            "grants",
            ["principal": "group:overview", "bucket": "overview", "template": "of/${sub}/", "actions": ["PutObject"]])
        let quota = try await site.quota(5, for: user.principal)
        #expect(try await user.ask(.download("own/k", from: "overview")).status == 201)
        let access = try await user.client.call("GET", "/v1/access")
        #expect(access.status == 200)
        #expect(access.json["principal"].text == user.principal)
        let grants = access.json["grants"].items.filter { $0["bucket"] == "overview" }
        #expect(Set(grants.compactMap { $0["prefix"].text }) == ["own/", "of/curious/"])
        let balance = try #require(access.json["quotas"].items.first { $0["id"].text == quota })
        #expect(balance["limit"] == 5)
        #expect(balance["remaining"] == 4)
    }
}
