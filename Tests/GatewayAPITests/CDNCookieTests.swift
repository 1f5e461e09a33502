import Foundation
import GatewayCore
import HTTPServing
import HTTPTypes
import Synchronization
import Testing

@testable import GatewayAPI

@Suite("Cookies of a CDN, over HTTP")
struct CDNCookieTests {
    private static func gateway(
        _ change: (inout StubPolicy) -> Void = { _ in }, ledger: StubLedger = StubLedger()
    ) -> TestGateway {
        var policy = StubPolicy()
        policy.publicEndpoints = [.cdn: StubPolicy.cdn]
        policy.conditions.allowVersions = true
        change(&policy)
        return TestGateway(ledger: ledger, policy: policy)
    }

    private static let wish = #"{"bucket":"photos","prefix":"uploads/film 1/","expiresIn":60}"#

    @Test func `come as data, with the place where they work, and are on record`() async throws {
        let gateway = Self.gateway()
        let answer = await gateway.send(.post, "/v1/cdn-cookies", token: "user-token", json: Self.wish)
        #expect(answer.status == 201, "\(answer.text)")
        let cookies = try #require(answer.json["cookies"] as? [String: String])
        #expect(Set(cookies.keys) == ["CloudFront-Policy", "CloudFront-Signature", "CloudFront-Key-Pair-Id"])
        #expect(cookies["CloudFront-Key-Pair-Id"] == "K2JCJMDEHXQW5F")
        for value in cookies.values { #expect(value.wholeMatch(of: /[A-Za-z0-9_~-]+/) != nil, "no cookie: \(value)") }
        #expect(answer.string("url") == "https://cdn.example/uploads/film%201/")
        #expect(answer.string("domain") == "cdn.example" && answer.string("path") == "/uploads/film%201/")
        #expect(answer.string("prefix") == "uploads/film 1/" && answer.string("bucket") == "photos")
        #expect(answer.number("expiresIn") == 60 && answer.string("expiresAt") == "2030-03-17T17:47:40Z")
        #expect(answer.headers[.cacheControl] == "no-store" && answer.headers[.rateLimit] != nil)
        #expect(answer.headers[.setCookie] == nil)
        let proposal = try #require(gateway.ledger.proposals.withLock { $0.first })
        #expect(answer.string("id") == proposal.id.uuidString.lowercased())
        #expect(proposal.delivery == .cdnCookies && proposal.credentialID == StubPolicy.cdnCredentialID)
        for value in cookies.values where value != "K2JCJMDEHXQW5F" { #expect(!gateway.logLines.contains(value)) }
    }

    @Test func `are refused with the reason`() async throws {
        let path = "/v1/cdn-cookies"
        for (json, status, code) in [
            (#"{"bucket":"photos"}"#, 400, "InvalidArgument"), (#"{"prefix":""}"#, 400, "InvalidArgument"),
            (#"{"bucket":"photos","prefix":"uploads/","actions":["GetObject"]}"#, 400, "InvalidArgument"),
            (#"{"bucket":"photos","prefix":"uploads/*"}"#, 400, "InvalidArgument"),
            (#"{"bucket":"photos","prefix":"uploads/","expiresIn":0}"#, 400, "InvalidArgument"),
            (#"{"bucket":"photos","prefix":""}"#, 422, "NotEnforceable"),
            (#"{"bucket":"photos","prefix":"other/"}"#, 403, "AccessDenied"),
            (#"{"bucket":"nowhere","prefix":"uploads/"}"#, 403, "AccessDenied"),
        ] {
            let gateway = Self.gateway()
            let answer = await gateway.send(.post, path, token: "user-token", json: json)
            #expect(answer.status == status && answer.string("code") == code, "\(json): \(answer.text)")
            #expect(gateway.ledger.proposals.withLock { $0.isEmpty })
        }
        for change in [
            { $0.publicEndpoints = [:] }, { $0.publicEndpoints[.cdn]?.signing = nil },
            { $0.publicEndpoints[.cdn]?.signing?.scheme = .nginxSecureLink }, { $0.conditions.allowVersions = nil },
            { $0.conditions.forceDownload = true },
        ] as [(inout StubPolicy) -> Void] {
            let answer = await Self.gateway(change).send(.post, path, token: "user-token", json: Self.wish)
            #expect(answer.status == 422 && answer.string("code") == "NotEnforceable", "\(answer.text)")
        }
        #expect(await Self.gateway().send(.post, path, json: Self.wish).status == 401)
    }

    @Test func `leave only once they are recorded`() async throws {
        let failing = Self.gateway(ledger: StubLedger(failure: .unavailable(retryAfter: 1)))
        let answer = await failing.send(.post, "/v1/cdn-cookies", token: "user-token", json: Self.wish)
        #expect(answer.status == 503 && !answer.text.contains("CloudFront-"))
    }
}
