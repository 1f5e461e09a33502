import Foundation
import GatewayCore
import Testing

@Suite("Issuing temporary credentials", .timeLimit(.minutes(1)))
struct SessionsTests {
    private let source: ScriptedPolicy
    private let cache: PolicyCache

    init() throws {
        source = try ScriptedPolicy.ofSessions()
        cache = PolicyCache(source: source)
    }

    private func issue(
        _ ledger: ScriptedLedger, _ opener: ScriptedOpener = ScriptedOpener(), prefix: String = "team/",
        limits: PolicyCache.Limits = .init(), cache: PolicyCache? = nil
    ) async throws -> IssuedSession {
        let cache = cache ?? PolicyCache(source: source, limits: limits)
        let (sessions, authenticator) = Sessions.scripted(cache, ledger, opener)
        return try await sessions.issue(
            SessionRequest(bucket: try BucketName("demo-bucket"), prefix: prefix, actions: nil, duration: nil),
            in: .test(try await authenticator.authenticate(Secret("key")), requestID: "request-1"))
    }

    @Test("records what was granted, until when and for whom, after the session is open and before it leaves")
    func records() async throws {
        let opener = ScriptedOpener()
        let ledger = ScriptedLedger { proposal, _ in
            #expect(opener.orders.count == 1)
            return .recorded(remaining: proposal.remainders)
        }
        let issued = try await issue(ledger, opener)
        let proposal = try #require(ledger.proposals.first)
        #expect(issued.id == proposal.id && issued.credential.expiresAt == proposal.expiresAt)
        #expect(
            proposal.key.rawValue == "team/" && proposal.action == .putObject && proposal.furtherActions == [.getObject]
        )
        #expect(
            proposal.scopes.contains(.credential(Fixture.id(500))) && proposal.scopes.contains(.apiKey(prefix: "key")))
        #expect(opener.orders.first?.duration == 3600)
    }

    /// Where the grants are, what is asked for, and what the ledger says: whoever has a session for a place is not held
    /// to be able to delete elsewhere.
    @Test(arguments: [
        (["team/"], "", "team/"), (["team/a/", "team/b.txt"], "", "team/"), (["team/ab/", "team/ac/"], "", "team/"),
        (["team/a/", "other/"], "", ""), (["team/a/x.txt"], "team/", "team/a/x.txt"), ([""], "team/a/", "team/a/"),
        (["team/é/a", "team/è/a"], "", "team/"), (["team/a/"], "team/a/b.txt", "team/a/b.txt"),
    ])
    func `records where the session may act`(places: [String], prefix: String, recorded: String) async throws {
        source.set { tables in
            tables.grants = places.enumerated().compactMap { try? Fixture.sessionGrant($0, on: $1) }
        }
        let ledger = ScriptedLedger()
        _ = try await issue(ledger, prefix: prefix)
        #expect(ledger.proposals.map(\.key.rawValue) == [recorded])
    }

    @Test("decides anew when policy changed while the session was opened; a revoked grant ends it")
    func stale() async throws {
        let source = source
        let alice = try Principal("user:alice")
        let opener = ScriptedOpener { order throws(GatewayError) in
            if order.policy.contains("team/*") {
                source.change([.principal(alice)]) { tables in tables.grants = [] }
            }
            return .sample(until: Fixture.now.addingTimeInterval(3600))
        }
        let ledger = ScriptedLedger { _, _ in .stale }
        await #expect(throws: GatewayError.self) { try await issue(ledger, opener) }
        #expect(ledger.proposals.count == 1)
    }

    @Test("is refused without a role, and where the policy is too long, each naming other deliveries")
    func refusals() async throws {
        source.set { tables in
            tables.grants = (0..<60).compactMap { try? Fixture.sessionGrant($0, on: "team/number-\($0)-of-many/") }
        }
        let opener = ScriptedOpener()
        for limits in [PolicyCache.Limits(), .init(literalGrantLimit: 10)] {
            do {
                _ = try await issue(ScriptedLedger(), opener, limits: limits)
                Issue.record("Too long a policy was taken.")
            } catch GatewayError.notEnforceable(let reason) {
                #expect(reason.contains("presigned URLs"))
            }
        }
        #expect(opener.orders.isEmpty)
        _ = try await issue(ScriptedLedger(), opener, prefix: "team/number-7-of-many/")
        let narrow = PolicyCache.Limits(literalGrantLimit: 10)
        _ = try await issue(ScriptedLedger(), opener, prefix: "team/number-7-of-many/x/", limits: narrow)
        #expect(opener.orders.count == 2)
        source.set { $0.credential?.sessionRole = nil }
        do {
            _ = try await issue(ScriptedLedger(), opener, prefix: "team/number-7-of-many/")
            Issue.record("There is no role.")
        } catch GatewayError.notEnforceable(let reason) {
            #expect(reason.contains("presigned URLs"))
        }
    }

    @Test("sees a role that was set up after the rows were read")
    func newRole() async throws {
        source.set { $0.credential?.sessionRole = nil }
        let alice = try Principal("user:alice")
        _ = try await cache.access(
            of: alice, groups: [], to: BucketName("demo-bucket"), around: ExactText("team/"))
        source.change([.credential(Fixture.id(500))]) { $0.credential?.sessionRole = Fixture.role }
        _ = try await issue(ScriptedLedger(), cache: cache)
    }

    /// The role that a credential may assume, and what AWS or a compatible store calls its buckets.
    @Test(arguments: [
        ("arn:aws:iam::123456789012:role/app", "arn:aws:s3:::"),
        ("arn:aws-cn:iam::123456789012:role/app", "arn:aws-cn:s3:::"),
        ("arn:aws-us-gov:iam::123456789012:role/app", "arn:aws-us-gov:s3:::"),
        ("arn:aws:iam:::role/app", "arn:aws:s3:::"), ("arn:minio:iam:::role/app", "arn:aws:s3:::"),
        ("arn:aws-*:iam::123456789012:role/app", "arn:aws:s3:::"),
    ])
    func `names buckets in the partition of the credential's role`(roleARN: String, place: String) async throws {
        source.set { tables in
            tables.credential?.sessionRole?.service = .aws
            tables.credential?.sessionRole?.roleARN = roleARN
        }
        let opener = ScriptedOpener()
        _ = try await issue(ScriptedLedger(), opener)
        let resource = #""Resource":["\#(place)demo-bucket/team/*"]"#
        let policy = try #require(opener.orders.first?.policy)
        #expect(policy.ranges(of: "arn:").count == 1 && policy.contains(resource), "\(policy)")
    }

    @Test("names the session after the user, in the services' alphabet, and nobody after somebody else")
    func names() async throws {
        let long = String(repeating: "x", count: 65)
        var seen: Set<String> = []
        for name in ["alice", "a@b.c_d-e", "a", "née", "tenant/alice", "tenant:alice", long, long + "y"] {
            source.change([.apiKey(prefix: "key")]) { $0.apiKeys[0].principal = try! Principal("user:" + name) }
            source.set { $0.grants = [try! Fixture.sessionGrant(1, to: "*")] }
            let opener = ScriptedOpener()
            _ = try await issue(ScriptedLedger(), opener)
            let session = try #require(opener.orders.first?.name)
            #expect(session.wholeMatch(of: /[A-Za-z0-9.@_-]{2,64}/) != nil, "\(session)")
            #expect(seen.insert(session).inserted)
        }
        #expect(seen.contains("alice") && seen.contains("a@b.c_d-e"))
    }
}
