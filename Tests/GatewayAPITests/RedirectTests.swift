import Foundation
import GatewayCore
import HTTPServing
import HTTPTypes
import Synchronization
import Testing

@testable import GatewayAPI

@Suite("GET /v1/objects/{bucket}/{key}")
struct RedirectTests {
    @Test("leads to a presigned URL that is on record, for as long as it lives")
    func redirects() async throws {
        let gateway = TestGateway()
        for (method, name) in [(HTTPRequest.Method.get, "GET"), (.head, "HEAD")] {
            let answer = await gateway.send(method, "/v1/objects/photos/uploads/a/b.png", token: "user-token")
            #expect(answer.status == 303)
            let url = try #require(answer.headers[.location])
            #expect(url.hasPrefix("https://store.example/photos/uploads/a/b.png?X-Amz-"))
            #expect(answer.headers[.cacheControl] == "private, max-age=840")
            #expect(answer.headers[.vary] == "Authorization")
            #expect(answer.headers[.referrerPolicy] == "no-referrer")
            #expect(answer.headers[.rateLimit] != nil)
            #expect(!answer.text.contains("X-Amz"))
            let proposal = try #require(gateway.ledger.proposals.withLock { $0.last })
            #expect(proposal.delivery == .redirect)
            #expect(proposal.method == name)
            #expect(proposal.requestID == answer.headers[.requestID])
        }
        #expect(!gateway.logLines.contains("X-Amz"))
        #expect(!gateway.logLines.contains("b.png"))
    }

    @Test func `is asked for again where the URL works from one address alone`() async throws {
        for (binds, expected) in [(true, "private, no-cache"), (false, "private, max-age=840")] {
            var policy = StubPolicy.ofExamples
            policy.publicEndpoints[.cdn]?.signing?.bindsSourceAddress = binds
            let answer = await TestGateway(policy: policy).send(
                .get, "/v1/objects/photos/uploads/a?endpoint=cdn", token: "user-token")
            #expect(answer.status == 303, "\(answer.text)")
            #expect(answer.headers[.location]?.hasPrefix("https://cdn.example/uploads/a?") == true)
            #expect(answer.headers[.cacheControl] == expected)
        }
    }

    @Test(
        "lets browsers save the object, under a name of its own if the link says so",
        arguments: [
            ("download", "attachment"), ("download=", "attachment"),
            ("download=cat%20%26%20dog.png", "attachment; filename=\"cat & dog.png\""),
            ("download=%E7%8C%AB.png", "attachment; filename=\"_.png\"; filename*=UTF-8''%E7%8C%AB.png"),
        ])
    func saves(query: String, disposition: String) async throws {
        let answer = await TestGateway().send(.get, "/v1/objects/photos/uploads/a?\(query)", token: "user-token")
        #expect(answer.status == 303, "\(answer.text)")
        let location = try #require(URLComponents(string: answer.headers[.location] ?? ""))
        let item = location.queryItems?.first { $0.name == "response-content-disposition" }
        #expect(item?.value == disposition)
    }

    @Test(
        "names the parameter whose file name cannot be one",
        arguments: ["a%2Fb", "..", "a%5Cb", String(repeating: "a", count: 256)])
    func wrongName(name: String) async {
        let gateway = TestGateway()
        let answer = await gateway.send(.get, "/v1/objects/photos/uploads/a?download=\(name)", token: "user-token")
        #expect(answer.status == 400 && answer.string("field") == "download", "\(answer.text)")
        #expect(gateway.ledger.proposals.withLock { $0.isEmpty })
    }

    @Test("names the parameter whose file name the bucket's scheme cannot sign")
    func unsignableName() async {
        let gateway = TestGateway(policy: StubPolicy(scheme: .awsV2))
        let answer = await gateway.send(.get, "/v1/objects/photos/uploads/a?download=a%26b", token: "user-token")
        #expect(answer.status == 400 && answer.string("field") == "download", "\(answer.text)")
        #expect(gateway.ledger.proposals.withLock { $0.isEmpty })
    }

    @Test(
        "takes the key as the target writes it, decoded once",
        arguments: [
            ("uploads/a%20b", "uploads/a b"), ("uploads/%2541", "uploads/%41"), ("uploads/a+b", "uploads/a+b"),
            ("uploads/%E7%8C%AB", "uploads/猫"), ("uploads/a%3Facl", "uploads/a?acl"),
            ("uploads/a%252Fb", "uploads/a%2Fb"),
        ])
    func keys(path: String, key: String) async throws {
        let gateway = TestGateway()
        let answer = await gateway.send(.get, "/v1/objects/photos/" + path, token: "user-token")
        #expect(answer.status == 303, "\(answer.text)")
        #expect(gateway.ledger.proposals.withLock { $0.map(\.key.rawValue) } == [key])
    }

    @Test(
        "refuses what can be read in two ways",
        arguments: [
            "photos/uploads%2Fa", "photos/uploads%2F%CC%81a", "photos/uploads/a%2Fb", "photos/uploads/",
            "photos/uploads//a", "photos//uploads/a",
            "photos/uploads/../a", "photos/uploads/%2e%2e/a", "photos/uploads/%00", "photos/uploads/%zz",
            "photos/uploads/%ff", "photos/uploads/$%7Bsub%7D", "photos/", "photos/uploads/a?x=1", "Photos/uploads/a",
        ])
    func ambiguous(path: String) async {
        let gateway = TestGateway()
        let answer = await gateway.send(.get, "/v1/objects/" + path, token: "user-token")
        #expect(answer.status == 400, "\(answer.text)")
        #expect(gateway.ledger.proposals.withLock { $0.isEmpty })
    }

    @Test("is no way around a token, a grant or another method")
    func refusals() async {
        let gateway = TestGateway()
        #expect(await gateway.send(.get, "/v1/objects/photos/uploads/a").status == 401)
        #expect(await gateway.send(.get, "/v1/objects/photos/other/a", token: "user-token").status == 403)
        #expect(await gateway.send(.get, "/v1/objects/nothing/uploads/a", token: "user-token").status == 403)
        #expect(await gateway.send(.get, "/v1/objects/photos", token: "user-token").status == 404)
        let post = await gateway.send(.post, "/v1/objects/photos/uploads/a", token: "user-token", json: "{}")
        #expect(post.status == 405)
        #expect(post.headers[.allow] == "GET, HEAD, OPTIONS")
        for answer in [await gateway.send(.get, "/v1/objects/photos/other/a", token: "user-token")] {
            #expect(answer.headers[.location] == nil)
            #expect(answer.headers[.cacheControl] == "no-store")
        }
    }

    @Test("leads to a version under grants that allow it")
    func versions() async throws {
        let path = "/v1/objects/photos/uploads/a?versionID=3sL4kqtJlcpXroDTDmJ"
        let refused = await TestGateway().send(.get, path, token: "user-token")
        #expect(refused.status == 403 && refused.string("condition") == "allowVersions", "\(refused.text)")
        let gateway = TestGateway(policy: StubPolicy(conditions: GrantConditions(allowVersions: true)))
        let answer = await gateway.send(.get, path, token: "user-token")
        #expect(answer.status == 303, "\(answer.text)")
        #expect(answer.headers[.location]?.contains("&versionId=3sL4kqtJlcpXroDTDmJ&") == true)
        let wrong = await gateway.send(.get, "/v1/objects/photos/uploads/a?versionID=a%26acl", token: "user-token")
        #expect(wrong.status == 400 && wrong.string("field") == "versionID", "\(wrong.text)")
    }

    @Test("can be followed by pages of allowed origins, and varies with both")
    func crossOrigin() async {
        let gateway = TestGateway(APISettings(allowedOrigins: ["https://app.example"]))
        let answer = await gateway.send(
            .get, "/v1/objects/photos/uploads/a", token: "user-token", headers: [.origin: "https://app.example"])
        #expect(answer.headers[.vary] == "Authorization, Origin")
        #expect(answer.headers[.accessControlAllowOrigin] == "https://app.example")
    }

    @Test("is cached no longer than the URL is good for", arguments: [(1, 0), (60, 0), (61, 1)])
    func shortLives(life: Int, age: Int) async {
        let gateway = TestGateway(policy: StubPolicy(conditions: GrantConditions(maxTTL: life)))
        let answer = await gateway.send(.get, "/v1/objects/photos/uploads/a", token: "user-token")
        #expect(answer.headers[.cacheControl] == "private, max-age=\(age)")
    }
}
