import Foundation
import Synchronization
import Testing

@testable import GatewayCore

@Suite("Protocols of existing clients")
struct ClientProtocolTests {
    /// Keeps what is noted.
    private final class Notes: RefusalNotes {
        let kept = Mutex<[RefusalNote]>([])

        func note(_ refusal: RefusalNote) { kept.withLock { $0.append(refusal) } }
    }

    private let source: ScriptedPolicy
    private let notes = Notes()

    init() throws {
        source = try ScriptedPolicy.ofSessions()
        let endpoints = try CookieDecisionTests.bucket().publicEndpoints
        source.set { tables in
            tables.bucket?.publicEndpoints = endpoints
            tables.cdnCredential = CookieDecisionTests.credential()
            tables.grants[0].conditions.allowVersions = true
        }
    }

    /// Every way to issue, each by the same protocol.
    private enum Delivery: CaseIterable {
        case link, batch, form, session, cookies
    }

    private func issue(
        _ delivery: Delivery, by clientProtocol: ClientProtocol?, _ cache: PolicyCache, _ ledger: ScriptedLedger
    ) async throws {
        let authenticator = CacheAuthenticator(cache: cache)
        let issuing = ProvenIssuing(
            cache: cache, authenticator: authenticator, ledger: ledger, now: { Fixture.now },
            randomBytes: { [UInt8](repeating: 7, count: $0) })
        let urls = PresignedURLs(issuing)
        let context = RequestContext(
            caller: try await authenticator.authenticate(Secret("key")), sourceAddress: nil, requestID: "r",
            deadline: .now + .seconds(10), clientProtocol: clientProtocol, refusals: notes)
        switch delivery {
        case .link: _ = try await urls.issue(Fixture.put("team/a"), in: context)
        case .batch: _ = try await urls.issue([Fixture.put("team/a")], in: context)[0].get()
        case .form:
            var fields = PostPolicyRequest.Fields()
            (fields.bucket, fields.keyPrefix) = ("demo-bucket", "team/")
            fields.contentTypes = ["image/png"]
            fields.takesLargestAllowed = true
            let forms = BrowserForms(issuing)
            _ = try await forms.issue(forms.request(fields, in: context), in: context)
        case .cookies:
            _ = try await CDNCookies(issuing).issue(
                CookieRequest(bucket: BucketName("demo-bucket"), prefix: "team/", expiresIn: nil), in: context)
        case .session:
            let sessions = Sessions.scripted(cache, ledger).sessions
            _ = try await sessions.issue(
                SessionRequest(bucket: try BucketName("demo-bucket"), prefix: "team/", actions: nil, duration: nil),
                in: context)
        }
    }

    @Test func `a closed bucket refuses each delivery as one that does not exist, and operators learn why`()
        async throws
    {
        for delivery in Delivery.allCases {
            let ledger = ScriptedLedger()
            try await issue(delivery, by: nil, PolicyCache(source: source), ledger)
            #expect(ledger.proposals.count == 1, "\(delivery)")
            await #expect(throws: GatewayError.accessDenied, "\(delivery)") {
                try await issue(delivery, by: .gitLFS, PolicyCache(source: source), ledger)
            }
            #expect(ledger.proposals.count == 1, "\(delivery)")
            #expect(ledger.denials.map(\.code) == ["AccessDenied"])
            let note = try #require(notes.kept.withLock { $0.popLast() })
            #expect(note.reason == .protocolClosed && note.subject == "git-lfs" && note.code == "AccessDenied")
        }
    }

    @Test func `a protocol is open as soon as the change is committed, and closed as soon`() async throws {
        let cache = PolicyCache(source: source)
        for delivery in Delivery.allCases {
            let ledger = ScriptedLedger()
            await #expect(throws: GatewayError.accessDenied) {
                try await issue(delivery, by: .gitLFS, cache, ledger)
            }
            source.change([.bucket(try BucketName("demo-bucket"))]) { $0.bucket?.protocols = [.gitLFS] }
            try await issue(delivery, by: .gitLFS, cache, ledger)
            await #expect(throws: GatewayError.accessDenied) {
                try await issue(delivery, by: .uppyCompanion, cache, ledger)
            }
            // Memory still has the row, and the recording finds it stale.
            source.change([.bucket(try BucketName("demo-bucket"))]) { $0.bucket?.protocols = [] }
            let racing = ScriptedLedger { _, count in count == 0 ? .stale : .recorded(remaining: []) }
            await #expect(throws: GatewayError.accessDenied) {
                try await issue(delivery, by: .gitLFS, cache, racing)
            }
            #expect(ledger.proposals.count == 1 && racing.proposals.count == 1, "\(delivery)")
        }
    }

    @Test func `a form takes the largest size that a grant allows, whatever others object to`() async throws {
        var grants = try (1...4).map { try Fixture.grant($0, conditions: GrantConditions(maxBytes: 4)) }
        grants[0] = try Fixture.grant(1, on: "team/", conditions: GrantConditions(contentTypes: ["video/*"]))
        grants[1].conditions.sourceCIDRs = ["198.51.100.0/24"]
        grants[2].conditions.maxBytes = 10
        for order in [[0, 1, 2, 3], [3, 2, 1, 0]] {
            source.change([.all]) { tables in
                tables.grants = order.enumerated().map { place, index in
                    var grant = grants[index]
                    grant.id = Fixture.id(50 + place)
                    return grant
                }
            }
            let ledger = ScriptedLedger()
            try await issue(.form, by: nil, PolicyCache(source: source), ledger)
            #expect(ledger.proposals.map(\.contentLength) == [10], "\(order)")
        }
    }

    /// A gateway that does not know yet that the scheme has changed asks for links without a SHA-256.
    @Test func `sizes alone are checked only where no SHA-256 can be bound`() async throws {
        let name = try BucketName("demo-bucket")
        source.change([.bucket(name)]) { tables in
            tables.bucket?.protocols = [.gitLFSVerify]
            tables.bucket?.scheme = .ossV4
        }
        let cache = PolicyCache(source: source)
        let ledger = ScriptedLedger()
        try await issue(.link, by: .gitLFSVerify, cache, ledger)
        #expect(ledger.proposals.count == 1)
        source.change([.bucket(name)]) { $0.bucket?.scheme = .awsV4 }
        let racing = ScriptedLedger { _, count in count == 0 ? .stale : .recorded(remaining: []) }
        await #expect(throws: GatewayError.accessDenied) {
            try await issue(.link, by: .gitLFSVerify, cache, racing)
        }
        #expect(racing.proposals.count == 1, "the first was refused by the ledger")
    }

    @Test func `a form without a size takes the largest that the grant allows`() async throws {
        for (limit, largest) in [(Int64(1000), Int64(1000)), (nil, IssueRequest.maxContentLength)] {
            let ledger = ScriptedLedger()
            source.change([.principal(try Principal("user:alice"))]) {
                $0.grants[0].conditions = GrantConditions(maxBytes: limit)
            }
            try await issue(.form, by: nil, PolicyCache(source: source), ledger)
            #expect(ledger.proposals.first?.contentLength == largest)
            #expect(ledger.denials.isEmpty)
        }
    }

    @Test func `where a quota counts bytes, a form without a size needs a limit in the grant`() async throws {
        for (limit, charge) in [(Int64(1000), Int64(1000)), (nil, nil)] {
            try source.change([.principal(try Principal("user:alice"))]) {
                $0.quotas = [try Fixture.quota(1, metric: .bytes, limit: 1 << 40)]
                $0.grants[0].conditions = GrantConditions(maxBytes: limit)
            }
            let ledger = ScriptedLedger()
            do {
                try await issue(.form, by: nil, PolicyCache(source: source), ledger)
                #expect(charge != nil && ledger.proposals.first?.charges.first?.amount == charge)
            } catch GatewayError.notEnforceable(let reason) {
                #expect(charge == nil && reason.contains("'maxBytes'") && ledger.proposals.isEmpty)
            }
        }
    }

    @Test(arguments: [false, true])
    func `credentials that must live for a quarter of an hour are refused where less is allowed`(
        acceptsLess: Bool
    ) async throws {
        let cache = PolicyCache(source: source)
        for (allowed, isShort) in [(900, true), (959, true), (960, false), (3600, false)] {
            let isRefused = isShort && !acceptsLess
            source.change([.bucket(try BucketName("demo-bucket"))]) { $0.bucket?.maxSessionTTL = allowed }
            let ledger = ScriptedLedger()
            let (sessions, authenticator) = Sessions.scripted(cache, ledger)
            let request = try SessionRequest(
                bucket: BucketName("demo-bucket"), prefix: "team/", actions: nil, duration: nil, leastLife: 900,
                acceptsLess: acceptsLess)
            let context = RequestContext.test(try await authenticator.authenticate(Secret("key")))
            do throws(GatewayError) {
                let issued = try await sessions.issue(request, in: context)
                #expect(
                    !isRefused
                        && issued.credential.expiresAt.timeIntervalSince(Fixture.now) >= Double(min(allowed, 900)))
            } catch {
                guard case .notEnforceable = error else { throw error }
                #expect(isRefused, "\(allowed)")
            }
        }
    }

    /// How long a grant still lasts, and whether that leaves what the client needs, besides the margin of a minute.
    @Test(arguments: [(1019.0, false), (1020, true), (1100, true), (1259, true), (1260, true)])
    func `credentials live for a quarter of an hour also shortly before a grant ends`(
        seconds: TimeInterval, isEnough: Bool
    ) async throws {
        source.set { $0.grants[0].notAfter = Fixture.now.addingTimeInterval(seconds) }
        let opener = ScriptedOpener()
        let (sessions, authenticator) = Sessions.scripted(PolicyCache(source: source), ScriptedLedger(), opener)
        let request = try SessionRequest(
            bucket: BucketName("demo-bucket"), prefix: "team/", actions: nil, duration: nil, leastLife: 900)
        let context = RequestContext.test(try await authenticator.authenticate(Secret("key")))
        let issued = try? await sessions.issue(request, in: context)
        #expect((issued != nil) == isEnough)
        #expect(opener.orders.allSatisfy { $0.duration >= 960 })
    }
}
