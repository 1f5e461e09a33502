import Foundation
import GatewayCore
import HTTPServing
import HTTPTypes
import StrictJSON
import Synchronization
import Testing

@testable import GatewayAPI

@Suite("Changing rows")
struct ChangeTests {
    private let gateway = TestGateway()
    private static let credentialID = StubPolicy.credentialID.uuidString.lowercased()

    private func create(_ path: String, _ json: String) async throws -> (path: String, answer: TestAnswer) {
        let answer = await gateway.send(.post, "/admin/v1/" + path, token: "admin-token", json: json)
        return (try #require(answer.headers[.location], "\(answer.text)"), answer)
    }

    private func change(
        _ method: HTTPRequest.Method, _ path: String, _ json: String, ifMatch: [String] = ["*"]
    ) async -> TestAnswer {
        var headers = HeaderFields()
        headers[values: .ifMatch] = ifMatch
        return await gateway.send(method, path, token: "admin-token", headers: headers, json: json)
    }

    private func makeGrant() async throws -> (path: String, answer: TestAnswer) {
        try await create(
            "grants",
            #"""
            {"principal": "user:bob", "bucket": "photos", "prefix": "a/", "actions": ["PutObject"],
             "conditions": {"maxBytes": 5, "contentTypes": ["image/png"]}, "note": "old"}
            """#)
    }

    @Test("a patch changes what it names and nothing else; null removes")
    func patch() async throws {
        let (path, created) = try await makeGrant()
        let answer = await change(
            .patch, path, #"{"conditions": {"maxBytes": 7, "contentTypes": null}, "note": null, "effect": "allow"}"#)
        #expect(answer.status == 200)
        var expected = created.json
        expected["conditions"] = ["maxBytes": 7]
        expected["note"] = ""
        #expect(NSDictionary(dictionary: answer.json) == NSDictionary(dictionary: expected))
        let template = await change(.patch, path, #"{"prefix": null, "template": "u/${sub}/"}"#)
        #expect(template.string("template") == "u/${sub}/" && template.json["prefix"] == nil)
        #expect(template.string("id") == created.string("id") && template.string("createdBy") == "user:alice")
    }

    /// After a restore, the log tells which rows have to be changed again.
    @Test("the log names the row of each request of an admin")
    func rowInLog() async throws {
        func row() -> String? { gateway.requestLog.requests.withLock { $0.last?.row } }
        let (path, created) = try await makeGrant()
        let id = try #require(created.string("id"))
        #expect(row() == id)
        _ = await gateway.send(.get, "/admin/v1/grants", token: "admin-token")
        #expect(row() == nil)
        for (method, body) in [(.get, nil), (.patch, #"{"note": "new"}"#), (.delete, nil)]
            as [(HTTPRequest.Method, String?)]
        {
            let answer = await gateway.send(
                method, path, token: "admin-token", headers: [.ifMatch: "*"], json: body)
            #expect(answer.status < 300)
            #expect(row() == id)
        }
        let member = try await create("groups/group:eng/members", #"{"member": "user:bob"}"#)
        #expect(row() == "group:eng/user:bob")
        _ = await gateway.send(.delete, member.path, token: "admin-token", headers: [.ifMatch: "*"])
        #expect(row() == "group:eng/user:bob")
        _ = await gateway.send(.get, "/admin/v1/grants/no-such", token: "admin-token")
        #expect(row() == nil)
        _ = await gateway.send(
            .post, "/admin/v1/tickets:revoke", token: "admin-token", json: #"{"principal": "user:bob"}"#)
        #expect(row() == "user:bob")
    }

    @Test("what was read can be put back, and what is left out gets its default")
    func replace() async throws {
        let (path, created) = try await makeGrant()
        let same = await change(.put, path, created.text)
        #expect(same.status == 200 && same.text == created.text)
        #expect(same.headers[.eTag] != created.headers[.eTag])
        let bare = await change(
            .put, path, #"{"principal": "user:bob", "bucket": "photos", "prefix": "", "actions": ["GetObject"]}"#)
        #expect(bare.string("note") == "" && (bare.json["conditions"] as? [String: Any])?.isEmpty == true)
        #expect(bare.string("createdAt") == created.string("createdAt"))
    }

    @Test(
        "a change that could not work is refused by the name of the member",
        arguments: [
            (#"{"id": "018f0000-0000-7000-8000-00000000000d"}"#, "id"), (#"{"createdBy": "user:eve"}"#, "createdBy"),
            (#"{"createdAt": "2020-01-01T00:00:00Z"}"#, "createdAt"), (#"{"actions": null}"#, "actions"),
            (#"{"id": null}"#, "id"), (#"{"createdBy": null, "note": "new"}"#, "createdBy"),
            (#"{"template": "u/${sub}/"}"#, "template"), (#"{"nosuch": 1}"#, "nosuch"),
            (#"{"effect": "deny"}"#, "conditions"),
            (#"{"conditions": {"maxBytes": -1}}"#, "conditions.maxBytes"), ("[]", "body"), ("null", "body"),
        ])
    func refused(json: String, field: String) async throws {
        let (path, created) = try await makeGrant()
        let answer = await change(.patch, path, json)
        #expect(answer.status == 400)
        #expect(answer.string("field") == field)
        #expect(await gateway.send(.get, path, token: "admin-token").text == created.text)
    }

    @Test("If-Match compares strongly, with every tag it lists")
    func ifMatch() async throws {
        let (path, created) = try await makeGrant()
        let tag = try #require(created.headers[.eTag])
        #expect(tag.hasPrefix("\"") && tag.hasSuffix("\""))
        #expect(await gateway.send(.get, path, token: "auditor-token").headers[.eTag] == tag)
        for wrong in [["\"\""], ["\"x\""], ["W/" + tag], [tag.uppercased()], ["\"x\", \"y\"", "\"z\""]] {
            #expect(await change(.patch, path, "{}", ifMatch: wrong).status == 412, "\(wrong)")
        }
        for malformed in [[""], ["x"], ["\""], ["*, *"], [tag + ","], ["\"a\"b\""], ["*", tag]] {
            let answer = await change(.patch, path, "{}", ifMatch: malformed)
            #expect(answer.status == 400 && answer.string("field") == "If-Match", "\(malformed)")
        }
        #expect(await change(.patch, path, "{}", ifMatch: []).status == 428)
        #expect(await change(.patch, path, "{}", ifMatch: ["\"x\",\t" + tag]).status == 200)
        #expect(await change(.patch, path, "{}", ifMatch: [tag]).status == 412)
        #expect(await change(.patch, path, "{}", ifMatch: ["\"x\"", "*"]).status == 400)
        #expect(await change(.delete, path, "", ifMatch: [tag]).status == 412)
        let now = try #require(await gateway.send(.get, path, token: "auditor-token").headers[.eTag])
        #expect(await change(.delete, path, "", ifMatch: [now]).status == 204)
        #expect(await change(.put, path, "{}").status == 404)
        #expect(await change(.delete, path, "", ifMatch: [now]).status == 404)
    }

    @Test("a bucket moves to another endpoint only with the secret of its credential")
    func endpoint() async throws {
        let (credential, _) = try await create(
            "storage-credentials", #"{"name": "a", "accessKeyID": "AKID", "secretAccessKey": "TheSecretOfTheStore"}"#)
        let id = try #require(credential.split(separator: "/").last)
        let (path, created) = try await create(
            "buckets",
            #"{"name": "photos", "endpoint": "https://one.example", "region": "r", "credentialID": "\#(id)", "maxTTL": 60}"#
        )
        // Another spelling of the same origin is not a move.
        #expect(await change(.patch, path, #"{"endpoint": "HTTPS://one.example:443", "maxTTL": 90}"#).status == 200)
        for (extra, status) in [
            ("", 400), (#", "secretAccessKey": "TheSecretOfTheStorf""#, 400), (#", "secretAccessKey": """#, 400),
            (#", "secretAccessKey": "TheSecretOfTheStore""#, 200),
        ] {
            let answer = await change(.patch, path, #"{"endpoint": "https://two.example"\#(extra)}"#)
            #expect(answer.status == status)
            #expect(!answer.text.contains("TheSecret"))
            if status == 400 { #expect(answer.string("field") == "secretAccessKey") }
        }
        let other =
            #"{"endpoint": "https://3.example", "credentialID": "\#(Self.credentialID)", "secretAccessKey": "x"}"#
        #expect(await change(.patch, path, other).status == 409)
        #expect(await change(.patch, path, #"{"name": "other"}"#).string("field") == "name")
        #expect(await change(.put, path, created.text).string("field") == "secretAccessKey")
    }

    /// U+212A, the Kelvin sign, is canonically equivalent to the letter K.
    @Test("a name that is canonically equivalent to a member's names nothing")
    func equivalentNames() async throws {
        let (path, _) = try await create(
            "storage-credentials", #"{"name": "a", "accessKeyID": "AKID", "secretAccessKey": "TheSecretOfTheStore"}"#)
        for body in [#"{"secretAccess\u212aey": "x"}"#, #"{"previous\u212aey": "x"}"#] {
            let answer = await change(.patch, path, body)
            #expect(answer.status == 400, "\(answer.text)")
            #expect(answer.string("detail")?.hasSuffix("' does not exist here.") == true, "\(answer.text)")
        }
    }

    @Test("a credential comes to sign for another endpoint only with its secret, by whatever request")
    func signingForAnotherEndpoint() async throws {
        let (credential, _) = try await create(
            "storage-credentials", #"{"name": "a", "accessKeyID": "AKID", "secretAccessKey": "TheSecretOfTheStore"}"#)
        let id = try #require(credential.split(separator: "/").last)
        func bucket(_ name: String, _ host: String, _ rest: String = "") async -> TestAnswer {
            await gateway.send(
                .post, "/admin/v1/buckets", token: "admin-token",
                json: #"{"name": "\#(name)", "endpoint": "https://\#(host).example", "region": "r","#
                    + #" "credentialID": "\#(id)"\#(rest)}"#)
        }
        // An admin who has just entered the secret need not enter it again.
        #expect(await bucket("one", "one").status == 201)
        #expect(await bucket("two", "one").status == 201)
        for rest in ["", #", "secretAccessKey": "TheSecretOfTheStorf""#, #", "secretAccessKey": """#] {
            let answer = await bucket("three", "mine", rest)
            #expect(answer.status == 400 && answer.string("field") == "secretAccessKey", "\(answer.text)")
            #expect(!answer.text.contains("TheSecret"))
        }
        let changes = gateway.stores.buckets.changes.withLock(\.count)
        // The rule cannot be avoided by removing all buckets, nor by having this credential sign for another
        // credential's bucket.
        for name in ["one", "two"] {
            #expect(
                await gateway.send(.delete, "/admin/v1/buckets/\(name)", token: "admin-token").status == 204)
        }
        #expect(await bucket("one", "mine").string("field") == "secretAccessKey")
        #expect(await bucket("one", "one").string("field") == "secretAccessKey")
        let (own, _) = try await create(
            "storage-credentials", #"{"name": "b", "accessKeyID": "AKID2", "secretAccessKey": "own"}"#)
        let ownID = try #require(own.split(separator: "/").last)
        let (path, _) = try await create(
            "buckets",
            #"{"name": "mine", "endpoint": "https://mine.example", "region": "r", "credentialID": "\#(ownID)"}"#)
        let swap = await change(.patch, path, #"{"credentialID": "\#(id)"}"#)
        #expect(swap.status == 400 && swap.string("field") == "secretAccessKey", "\(swap.text)")
        #expect(gateway.stores.buckets.changes.withLock(\.count) == changes + 3)
        #expect(await bucket("three", "mine", #", "secretAccessKey": "TheSecretOfTheStore""#).status == 201)
        #expect(await change(.patch, path, #"{"credentialID": "\#(id)"}"#).status == 200)
    }

    @Test("a role moves to another endpoint, or is added, only with the secret of its credential")
    func roleEndpoint() async throws {
        func role(_ host: String, _ rest: String = "") -> String {
            #"""
            {"sessionRole": {"roleARN": "acs:ram::1234567890123456:role/uploader", "service": "alibaba",
            "endpoint": "https://\#(host).example", "region": "r"}\#(rest)}
            """#
        }
        let (path, _) = try await create(
            "storage-credentials", #"{"name": "a", "accessKeyID": "AKID", "secretAccessKey": "TheSecretOfTheStore"}"#)
        let secret = #", "accessKeyID": "AKID", "secretAccessKey": "TheSecretOfTheStore""#
        for (host, rest, status) in [
            ("one", "", 400), ("one", secret, 200), ("one", "", 200), ("two", "", 400),
            ("two", #", "accessKeyID": "AKID""#, 400), ("two", secret, 200),
        ] {
            let answer = await change(.patch, path, role(host, rest))
            #expect(answer.status == status, "\(host) \(rest): \(answer.text)")
            if status == 400 { #expect(answer.string("field") == "secretAccessKey") }
        }
        #expect(await change(.patch, path, #"{"sessionRole": {"endpoint": "https://three.example"}}"#).status == 400)
        #expect(await change(.patch, path, #"{"sessionRole": {"region": "elsewhere"}}"#).status == 200)
        #expect(await change(.patch, path, #"{"sessionRole": null}"#).status == 200)
    }

    @Test("secrets are rotated together, and stay where none is sent")
    func rotation() async throws {
        let (path, _) = try await create(
            "storage-credentials", #"{"name": "a", "accessKeyID": "AKID", "secretAccessKey": "TheSecretOfTheStore"}"#)
        let id = try #require(path.split(separator: "/").last.map(String.init))
        #expect(await change(.patch, path, #"{"name": "b"}"#).status == 200)
        #expect(try await gateway.stores.credentials.get(id).secretAccessKey.reveal() == "TheSecretOfTheStore")
        for json in [#"{"accessKeyID": "AKID2"}"#, #"{"sessionToken": "token"}"#] {
            #expect(await change(.patch, path, json).string("field") == "secretAccessKey")
        }
        let rotated = await change(.patch, path, #"{"accessKeyID": "AKID2", "secretAccessKey": "AnotherSecret"}"#)
        #expect(rotated.status == 200 && !rotated.text.contains("AnotherSecret"))
        #expect(try await gateway.stores.credentials.get(id).secretAccessKey.reveal() == "AnotherSecret")
        let temporary = await change(
            .patch, path, #"{"accessKeyID": "T", "secretAccessKey": "S", "sessionToken": "token"}"#)
        #expect(temporary.json["hasSessionToken"] as? Bool == true)
        #expect(await change(.patch, path, #"{"name": "c"}"#).json["hasSessionToken"] as? Bool == true)
    }

    @Test("an issuer keeps its secret, or gets other keys")
    func issuerKeys() async throws {
        let secret = "a shared secret of 32 bytes, really"
        let (path, created) = try await create(
            "issuers",
            #"""
            {"issuer": "https://i", "audiences": ["a"], "algorithms": ["HS256"], "keys": {"secret": "\#(secret)"},
             "principalPrefix": "i|", "groupPrefix": "i|"}
            """#)
        #expect(await change(.put, path, created.text).status == 200)
        let id = try #require(path.split(separator: "/").last.map(String.init))
        #expect(try await gateway.stores.issuers.get(id).keys == .secret(Secret(secret)))
        let other = await change(.patch, path, #"{"keys": {"url": "https://i/jwks"}, "algorithms": ["ES256"]}"#)
        #expect((other.json["keys"] as? [String: Any])?["url"] as? String == "https://i/jwks")
        #expect(await change(.patch, path, #"{"keys": {"url": null, "hasSecret": true}}"#).status == 400)
        // The tickets of a deleted issuer would be accepted again if another took its name.
        #expect(await change(.patch, path, #"{"issuer": "https://other"}"#).string("field") == "issuer")
    }

    @Test(
        "an issuer takes no private key",
        arguments: [
            #""kty":"EC","crv":"P-256","x":"eA","y":"eQ","d":"ZA""#, #""kty":"RSA","n":"bg","e":"AQAB","qi":"cQ""#,
            #""kty":"RSA","n":"bg","e":"AQAB","oth":[]"#, #""kty":"oct","k":"aw""#,
        ])
    func privateKeys(_ members: String) async {
        func creation(_ keys: String) async -> TestAnswer {
            await gateway.send(
                .post, "/admin/v1/issuers", token: "admin-token",
                json: #"""
                    {"issuer": "https://i", "audiences": ["a"], "algorithms": ["ES256"], "keys": {"inline": {"keys": [\#(keys)]}},
                     "principalPrefix": "i|", "groupPrefix": "i|"}
                    """#)
        }
        let open = #"{"kty":"EC","crv":"P-256","x":"eA","y":"eQ"}"#
        #expect(await creation("\(open), {\(members)}").string("field") == "keys.inline.keys[1]")
        #expect(await creation(open).status == 201)
    }

    @Test("a key keeps its text, and a quota what it counts")
    func lasting() async throws {
        let (key, _) = try await create("api-keys", #"{"name": "ci", "principal": "user:bob", "roles": ["admin"]}"#)
        let id = try #require(key.split(separator: "/").last.map(String.init))
        let hash = try await gateway.stores.apiKeys.get(id).hash
        #expect(await change(.patch, key, #"{"roles": [], "expiresAt": "2099-01-01T00:00:00Z"}"#).status == 200)
        #expect(try await gateway.stores.apiKeys.get(id).hash == hash)
        #expect(await change(.patch, key, #"{"expiresAt": "2001-01-01T00:00:00Z"}"#).string("field") == "expiresAt")
        #expect(await change(.patch, key, #"{"principal": "user:eve"}"#).string("field") == "principal")
        #expect(await change(.patch, key, #"{"principal": null}"#).string("field") == "principal")
        let (quota, _) = try await create(
            "quotas",
            #"{"principal": "user:bob", "action": "PutObject", "metric": "urls", "period": "day", "limit": 5}"#)
        #expect(await change(.put, quota, #"{"limit": 6}"#).number("limit") == 6)
        #expect(await change(.patch, quota, #"{"period": "hour"}"#).string("field") == "period")
        #expect(await change(.patch, quota, #"{"bucket": "photos"}"#).string("field") == "bucket")
        #expect(await change(.patch, quota, #"{"action": null}"#).string("field") == "action")
        // The quota has no bucket.
        #expect(await change(.patch, quota, #"{"bucket": null, "limit": 7}"#).number("limit") == 7)
    }

    @Test("a patch is a merge patch or JSON, and a replacement JSON")
    func mediaTypes() async throws {
        let (path, _) = try await makeGrant()
        for (method, type, status) in [
            (HTTPRequest.Method.patch, "application/merge-patch+json", 200), (.patch, "application/json", 200),
            (.patch, "application/json-patch+json", 415), (.put, "application/merge-patch+json", 415),
        ] {
            let answer = await gateway.send(
                method, path, token: "admin-token", headers: [.ifMatch: "*", .contentType: type], json: "{}")
            #expect(answer.status == status)
        }
    }
}

@Suite("Merge patches")
struct MergePatchTests {
    /// The examples of RFC 7396, appendix A.
    @Test(
        arguments: [
            (#"{"a":"b"}"#, #"{"a":"c"}"#, #"{"a":"c"}"#), (#"{"a":"b"}"#, #"{"b":"c"}"#, #"{"a":"b","b":"c"}"#),
            (#"{"a":"b"}"#, #"{"a":null}"#, "{}"), (#"{"a":"b","b":"c"}"#, #"{"a":null}"#, #"{"b":"c"}"#),
            (#"{"a":["b"]}"#, #"{"a":"c"}"#, #"{"a":"c"}"#), (#"{"a":"c"}"#, #"{"a":["b"]}"#, #"{"a":["b"]}"#),
            (#"{"a":{"b":"c"}}"#, #"{"a":{"b":"d","c":null}}"#, #"{"a":{"b":"d"}}"#),
            (#"{"a":[{"b":"c"}]}"#, #"{"a":[1]}"#, #"{"a":[1]}"#), (#"["a","b"]"#, #"["c","d"]"#, #"["c","d"]"#),
            (#"{"a":"b"}"#, #"["c"]"#, #"["c"]"#), (#"{"a":"foo"}"#, "null", "null"),
            (#"{"a":"foo"}"#, #""bar""#, #""bar""#),
            (#"{"e":null}"#, #"{"a":1}"#, #"{"e":null,"a":1}"#), ("[1,2]", #"{"a":"b","c":null}"#, #"{"a":"b"}"#),
            ("{}", #"{"a":{"bb":{"ccc":null}}}"#, #"{"a":{"bb":{}}}"#),
        ])
    func publishedExamples(target: String, patch: String, result: String) throws {
        func read(_ text: String) throws -> JSONValue { try JSONReader.read(Array(text.utf8)) }
        #expect(try read(target).merged(with: read(patch)) == read(result))
    }
}
