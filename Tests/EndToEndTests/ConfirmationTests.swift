import Foundation
import HTTPTesting
import LibCrypto
import TestSupport
import Testing

/// Confirmation of uploads at stores that verify signatures.
@Suite(.storeBenches) struct ConfirmationTests {
    private static let body = Array("the bytes of an object".utf8)

    private struct Issued {
        let id: String
        let link: Link

        init(_ answer: Answer) throws {
            try #require(answer.status == 201, "\(answer.text)")
            id = try #require(answer.json["id"].text)
            link = try Link(answer.json)
        }
    }

    private func issue(
        _ bench: StoreBench, _ key: String, _ changes: [String: JSON] = [:], to user: User? = nil
    ) async throws -> Issued {
        let request: JSON = [
            "action": "PutObject", "bucket": "\(bench.bucket)", "key": "\(key)", "contentType": "image/png",
            "contentMD5": "\(DigestAlgorithm.md5.digest(of: Self.body).base64)",
            "contentLength": .number(Self.body.count),
        ]
        let answer = try await (user ?? bench.user).ask(request.with(changes))
        bench.deployment.keepSecret(urlOf: answer)
        return try Issued(answer)
    }

    private func confirm(_ bench: StoreBench, _ id: String, as client: APIClient? = nil) async throws -> Answer {
        try await (client ?? bench.user.client).call("POST", "/v1/issuances/\(id):confirm")
    }

    private func state(_ bench: StoreBench, _ id: String) async throws -> String? {
        let answer = try await confirm(bench, id)
        try #require(answer.status == 200, "\(answer.text)")
        return answer.json["state"].text
    }

    @Test("before the upload, after it, twice, and after somebody overwrote it", arguments: StoreKind.allCases)
    func states(kind: StoreKind) async throws {
        let bench = try StoreBench.at(kind)
        let key = bench.freshKey("a ü+.png")
        let issued = try await issue(bench, key)
        #expect(try await state(bench, issued.id) == "issued")
        #expect(try await issued.link.use(Self.body).status == 200)
        let second = try await issue(bench, key, ["contentLength": 3, "contentMD5": .null])
        let landed = try await confirm(bench, issued.id)
        #expect(landed.json["state"] == "landed" && landed.json["contentType"] == "image/png", "\(landed.text)")
        #expect(landed.json["size"] == .number(Self.body.count) && landed.json["etag"].text?.isEmpty == false)
        // Another upload of the same key, for which the first object does not count.
        #expect(try await state(bench, second.id) == "mismatched")
        #expect(try await second.link.use(Array("abc".utf8)).status == 200)
        #expect(try await state(bench, second.id) == "landed")
        #expect(try await state(bench, issued.id) == "landed")
    }

    @Test(arguments: StoreKind.allCases)
    func `a store that checks signatures accepts the trace beside them`(kind: StoreKind) async throws {
        let bench = try StoreBench.at(kind)
        let issued = try await issue(bench, bench.freshKey())
        #expect(try await issued.link.use(Self.body).status == 200)
        let fields = [
            (name: "traceparent", value: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),
            (name: "tracestate", value: "a=1"),
        ]
        let answer = try await bench.user.client.call("POST", "/v1/issuances/\(issued.id):confirm", headers: fields)
        #expect(answer.json["state"] == "landed", "\(answer.text)")
    }

    @Test("what somebody overwrote before it was confirmed does not fit", arguments: StoreKind.allCases)
    func overwritten(kind: StoreKind) async throws {
        let bench = try StoreBench.at(kind)
        let key = bench.freshKey()
        let issued = try await issue(bench, key)
        let other = try await issue(
            bench, key, ["contentLength": 4, "contentMD5": .null, "contentType": "application/pdf"])
        #expect(try await issued.link.use(Self.body).status == 200)
        #expect(try await other.link.use(Array("%PDF".utf8)).status == 200)
        let found = try await confirm(bench, issued.id)
        #expect(found.json["state"] == "mismatched", "\(found.text)")
        #expect(found.json["mismatches"].items.compactMap(\.text) == ["size", "md5", "type"])
    }

    @Test("by many at once, by somebody else, of a revoked grant, of a download", arguments: StoreKind.allCases)
    func callers(kind: StoreKind) async throws {
        let bench = try StoreBench.at(kind)
        let bob = try await bench.deployment.makeUser("bob-\(UUID().uuidString.lowercased())")
        let key = bench.freshKey()
        let grant = try await bench.deployment.grant(
            ["PutObject", "GetObject"], to: bob.principal, in: bench.bucket, prefix: key)
        let answer = try await bob.ask(.upload(key, to: bench.bucket))
        bench.deployment.keepSecret(urlOf: answer)
        let issued = try Issued(answer)
        let download = try await bob.ask(.download(key, from: bench.bucket))
        bench.deployment.keepSecret(urlOf: download)
        #expect(try await issued.link.use(Array("12345".utf8)).status == 200)
        try await bench.deployment.delete("grants", grant)
        let foreign = try await confirm(bench, issued.id)
        #expect(foreign.status == 404 && foreign.code == "NoSuchIssuance")
        let states = try await withThrowingTaskGroup(of: String?.self) { group in
            for _ in 0..<12 {
                group.addTask { try await confirm(bench, issued.id, as: bob.client).json["state"].text }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(states == Array(repeating: "landed", count: 12))
        let refused = try await confirm(bench, try #require(download.json["id"].text), as: bob.client)
        #expect(refused.status == 409 && refused.json["detail"].text?.contains("does not permit an upload") == true)
    }

    @Test("of an upload in parts, by its own identifier", arguments: StoreKind.allCases)
    func parts(kind: StoreKind) async throws {
        let bench = try StoreBench.at(kind)
        let client = bench.user.client
        let started = try await client.call(
            "POST", "/v1/multipart-uploads",
            ["bucket": "\(bench.bucket)", "key": "\(bench.freshKey())", "contentType": "image/png"])
        let id = try #require(started.json["id"].text)
        let upload = "/v1/multipart-uploads/\(id)"
        let parts: JSON = ["parts": [["partNumber": 1, "contentLength": .number(Self.body.count)]]]
        let result = try await client.call("POST", "\(upload)/parts", parts).json["results"].items[0]
        let link = try Link(result)
        bench.deployment.keepSecret(link.url)
        let tag = try #require(try await link.use(Self.body)["ETag"])
        #expect(try await state(bench, id) == "issued")
        #expect(try await confirm(bench, try #require(result["id"].text)).status == 409)
        let list: JSON = ["parts": [["partNumber": 1, "etag": "\(tag)"]]]
        #expect(try await client.call("POST", "\(upload):complete", list).status == 200)
        let found = try await confirm(bench, id)
        #expect(found.json["state"] == "landed" && found.json["size"] == .number(Self.body.count), "\(found.text)")
    }

    @Test("of a form whose key is known, and of none that left it to its user, at radosgw")
    func forms() async throws {
        let bench = try StoreBench.at(.radosgw)
        let key = bench.freshKey("cat.png")
        let request: JSON = [
            "bucket": "\(bench.bucket)", "key": "\(key)", "contentTypes": ["image/png"], "maxBytes": 100,
        ]
        let answer = try await bench.user.client.call("POST", "/v1/post-policies", request)
        try #require(answer.status == 201, "\(answer.text)")
        let id = try #require(answer.json["id"].text)
        let form = try Form(answer.json)
        for field in form.fields where field.name != "key" {
            bench.deployment.keepSecret(field.value.count > 40 ? field.value : "")
        }
        #expect(try await state(bench, id) == "issued")
        #expect(try await [200, 201, 204].contains(form.send().status))
        #expect(try await state(bench, id) == "landed")
        let open = try await bench.user.client.call(
            "POST", "/v1/post-policies",
            ["bucket": "\(bench.bucket)", "keyStartsWith": "\(key)/", "contentTypes": ["image/png"], "maxBytes": 100])
        let refused = try await confirm(bench, try #require(open.json["id"].text, "\(open.text)"))
        #expect(refused.status == 409, "\(refused.text)")
    }

    @Test("frees no reserved bytes, and is 503 while the store is down", arguments: StoreKind.allCases)
    func reserved(kind: StoreKind) async throws {
        let bench = try StoreBench.at(kind)
        // A user of its own: under a quota of bytes, the forms of other tests would be refused.
        let user = try await bench.deployment.makeUser("carol-\(UUID().uuidString.lowercased())")
        try await bench.deployment.grant(["PutObject"], to: user.principal, in: bench.bucket)
        let quota = try await bench.deployment.quota(
            1_000_000, for: user.principal,
            options: ["metric": "bytes", "action": "PutObject", "bucket": "\(bench.bucket)"])
        let issued = try await issue(bench, bench.freshKey(), ["contentLength": 1000, "contentMD5": .null], to: user)
        let used = "SELECT sum(used) FROM quota_usage WHERE quota_id = '\(quota)'"
        let before = try await bench.deployment.number(used)
        #expect(before >= 1000)
        #expect(try await confirm(bench, issued.id, as: user.client).json["state"] == "issued")
        #expect(try await bench.deployment.number(used) >= before)
        try await bench.deployment.delete("quotas", quota)
        let down = try await bench.deployment.makeBucket(
            "down-\(UUID().uuidString.lowercased())", endpoint: "http://127.0.0.1:9")
        try await bench.deployment.grant(["PutObject"], to: user.principal, in: down)
        let answer = try await user.ask(.upload("a", to: down))
        bench.deployment.keepSecret(urlOf: answer)
        let refused = try await confirm(bench, try #require(answer.json["id"].text), as: user.client)
        #expect(refused.status == 503 && refused["Retry-After"] != nil)
    }
}
