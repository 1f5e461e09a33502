import Foundation
import Signing
import TestSupport
import Testing

@testable import GatewayCore

@Suite("Issuing cookies of a CDN", .timeLimit(.minutes(1)))
struct CookieProofTests {
    private let source: ScriptedPolicy

    init() throws {
        source = try ScriptedPolicy.ofSessions()
        let bucket = try CookieDecisionTests.bucket()
        let grant = try CookieDecisionTests.grant(1)
        source.set { tables in
            (tables.bucket, tables.cdnCredential) = (bucket, CookieDecisionTests.credential())
            tables.grants = [grant]
        }
    }

    private func issue(
        _ ledger: ScriptedLedger, prefix: String = "team/", cache: PolicyCache? = nil, after seconds: TimeInterval = 0,
        repeating repeatable: RepeatableIssuing? = nil
    ) async throws -> IssuedCookies {
        let cache = cache ?? PolicyCache(source: source)
        let authenticator = CacheAuthenticator(cache: cache)
        let issuing = ProvenIssuing(
            cache: cache, authenticator: authenticator, ledger: ledger,
            now: { Fixture.now.addingTimeInterval(seconds) }, randomBytes: { [UInt8](repeating: 7, count: $0) })
        let context = RequestContext(
            caller: try await authenticator.authenticate(Secret("key")), sourceAddress: IPAddress("203.0.113.7"),
            requestID: "request-1", deadline: .now + .seconds(10), repeatable: repeatable)
        return try await CDNCookies(issuing).issue(CookieDecisionTests.request(prefix), in: context)
    }

    @Test func `what is recorded is what was signed, and by which key`() async throws {
        try source.change([.principal(try Principal("user:alice"))]) { $0.quotas = [try Fixture.quota(9)] }
        for (prefix, first) in [("team/", "CloudFront-Policy"), ("team/a b.mp4", "CloudFront-Expires")] {
            let ledger = ScriptedLedger()
            let issued = try await issue(ledger, prefix: prefix)
            let proposal = try #require(ledger.proposals.first)
            #expect(ledger.proposals.count == 1 && proposal.id == issued.id && proposal.requestID == "request-1")
            #expect(proposal.delivery == .cdnCookies && proposal.method == "GET" && proposal.key.rawValue == prefix)
            #expect(proposal.action == .getObject && proposal.furtherActions.isEmpty)
            #expect(proposal.credentialID == Fixture.id(600) && proposal.grantID == Fixture.id(1))
            #expect(proposal.expiresAt == issued.expiresAt && issued.expiresIn == 900)
            #expect(proposal.scopes.contains(.credential(Fixture.id(600))))
            #expect(proposal.scopes.contains(.bucket(try BucketName("demo-bucket"))))
            #expect(proposal.charges.map(\.quota.id) == [Fixture.id(9)] && issued.quotas.count == 1)
            #expect(issued.cookies.reveal().map(\.name) == [first, "CloudFront-Signature", "CloudFront-Key-Pair-Id"])
            let path = prefix == "team/" ? "/team/" : "/team/a%20b.mp4"
            #expect(issued.path == path && issued.url == "https://cdn.example" + path && issued.host == "cdn.example")
            #expect(!"\(issued)".contains("CloudFront") && !"\(issued.cookies)".contains("CloudFront"))
        }
    }

    @Test func `a revoked grant ends it at once, also between the decision and the commit`() async throws {
        let cache = PolicyCache(source: source)
        _ = try await issue(ScriptedLedger(), cache: cache)
        let source = source
        let alice = try Principal("user:alice")
        let racing = ScriptedLedger { _, _ in
            source.change([.principal(alice)]) { $0.grants = [] }
            return .stale
        }
        await #expect(throws: GatewayError.accessDenied) { try await issue(racing, cache: cache) }
        #expect(racing.proposals.count == 1)
        let later = ScriptedLedger()
        await #expect(throws: GatewayError.accessDenied) { try await issue(later, cache: cache) }
        #expect(later.proposals.isEmpty && later.denials.map(\.code) == ["AccessDenied"])
    }

    @Test func `an exceeded quota and a ledger that fails let no cookie out`() async throws {
        let exceeded = QuotaRefusal(
            quotaID: "q", metric: .urls, period: .day, limit: 1, remaining: 0, resetsIn: 60)
        for ledger in [
            ScriptedLedger { _, _ in .quotaExceeded(exceeded) },
            ScriptedLedger { _, _ throws(GatewayError) in throw .unavailable(retryAfter: 1) },
        ] {
            await #expect(throws: GatewayError.self) { try await issue(ledger) }
        }
    }

    @Test func `a repetition gives the same cookies as long as they live`() async throws {
        let ledger = ScriptedLedger()
        let key = UUID.version7(at: Fixture.now, randomBytes: [UInt8](repeating: 1, count: 10))
        let first = try await issue(
            ledger, repeating: RepeatableIssuing(IdempotencyClaim(id: key, attempt: key), ledger: ledger))
        let again = RepeatableIssuing(IdempotencyClaim(id: key, attempt: key, issuances: [first.id]), ledger: ledger)
        let second = try await issue(ledger, after: 300, repeating: again)
        #expect(second.cookies.reveal() == first.cookies.reveal() && second.id == first.id)
        await #expect(throws: GatewayError.idempotency(.answerGone)) {
            try await issue(ledger, after: 900, repeating: again)
        }
    }

    @Test func `the proof fails for each part that differs from the decision`() throws {
        let address = try BucketAddress(
            endpoint: StoreEndpoint("https://cdn.example"), bucket: "demo-bucket", addressing: .cname)
        let signer = try CDNSigner(
            .cloudFront(.sha1), SigningCredential(accessKeyID: "K2JCJMDEHXQW5F", secretAccessKey: TestKey.pem))
        let instant = try #require(SigningInstant(epochSeconds: Int64(Fixture.now.timeIntervalSince1970)))
        func gap(
            _ permit: CookiePermit, _ prefix: String, life: Int = 900, for source: String? = nil,
            at other: BucketAddress? = nil
        ) throws -> ProofGap? {
            let signed = try signer.cookies(
                CDNCookieRequest(address: other ?? address, prefix: prefix, expiresInSeconds: life), for: source,
                at: instant)
            do throws(GatewayError) {
                try prove(signed, by: permit, at: address)
                return nil
            } catch {
                guard case .unproven(let gap) = error else { throw error }
                return gap
            }
        }
        for bindsAddress in [false, true] {
            let bucket = try CookieDecisionTests.bucket { $0.bindsSourceAddress = bindsAddress }
            let source = bindsAddress ? "203.0.113.7" : nil
            for prefix in ["team/é b/", "team/é b"] {
                let decision = decideCookies(
                    try CookieDecisionTests.request(prefix), for: Subject(principal: try Principal("user:alice")),
                    under: try CookieDecisionTests.policy([CookieDecisionTests.grant(1)], bucket: bucket),
                    sourceAddress: IPAddress("203.0.113.7"), now: Fixture.now)
                let permit = try decision.permit
                #expect(try gap(permit, prefix, for: source) == nil)
                for other in ["team/", "", "team/é b/c", "team/e\u{301} b/", prefix + "x", String(prefix.dropLast())] {
                    #expect(try gap(permit, other, for: source) == .place, "\(prefix) \(other)")
                }
                #expect(try gap(permit, prefix, life: 901, for: source) == .expiry)
                #expect(try gap(permit, prefix, for: "203.0.113.8") == .sourceAddress)
                if bindsAddress { #expect(try gap(permit, prefix) == .sourceAddress) }
                for (endpoint, name, addressing) in [
                    ("https://other.example", "demo-bucket", .cname), ("http://cdn.example", "demo-bucket", .cname),
                    ("https://cdn.example", "demo-bucket", .path),
                ] as [(String, String, Addressing)] {
                    let place = try BucketAddress(
                        endpoint: StoreEndpoint(endpoint), bucket: name, addressing: addressing)
                    #expect(try gap(permit, prefix, for: source, at: place) == .place, "\(endpoint)")
                }
                var elsewhere = permit
                elsewhere.bucket = try Fixture.bucket()
                #expect(try gap(elsewhere, prefix, for: source) == .scheme)
            }
        }
    }
}
