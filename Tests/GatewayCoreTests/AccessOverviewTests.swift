import Foundation
import GatewayCore
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(1))) struct AccessOverviewTests {
    struct FixedUsage: QuotaUsageSource {
        let asked: @Sendable ([QuotaHolding]) -> Void

        func usage(of holdings: [QuotaHolding]) async throws(GatewayError) -> [QuotaRemainder] {
            asked(holdings)
            return holdings.map { QuotaRemainder(quotaID: $0.quota.id, remaining: 3, resetsIn: nil) }
        }
    }

    func access(
        _ grants: [Grant], _ quotas: [Quota] = [], limits: PolicyCache.Limits = PolicyCache.Limits(),
        in bucket: String? = nil, around prefix: String = "",
        asked: @escaping @Sendable ([QuotaHolding]) -> Void = { _ in }
    ) async throws -> AccessOverview.Access {
        var tables = ScriptedPolicy.Tables()
        let alice = try Principal("user:alice")
        tables.grants = grants
        tables.quotas = quotas
        tables.members = [alice: [try Principal("group:staff")]]
        let overview = AccessOverview(
            cache: PolicyCache(source: ScriptedPolicy(tables), limits: limits), usage: FixedUsage(asked: asked)
        )
        let caller = Caller(
            principal: alice, groups: [], roles: [], claims: [:], expiresAt: nil, token: Secret("t"), scope: nil,
            position: Fixture.position
        )
        return try await overview.access(
            of: caller, in: bucket.map { try BucketName($0) }, around: ExactText(prefix))
    }

    @Test func `a caller sees the grants that apply, with their prefixes filled in`() async throws {
        let access = try await access([
            Fixture.grant(1, on: "z/"), Fixture.grant(2, to: "group:staff", on: "b/"),
            Fixture.grant(3, to: "*", on: "users/${sub}/"), Fixture.grant(4, to: "user:bob", on: "a/"),
            Fixture.grant(5, to: "*", on: "t/${claim:tenant}/"), Fixture.grant(6, on: "z/", in: "another-bucket"),
        ])
        #expect(access.grants.map(\.prefix.rawValue) == ["z/", "b/", "users/alice/", "z/"])
        #expect(access.grants.map(\.grant.id) == [6, 2, 3, 1].map(Fixture.id))
        #expect(!access.isTruncated)
        #expect(access.quotas.isEmpty)
    }

    @Test func `a deny without a value for its variable is seen with what it denies`() async throws {
        let access = try await access([
            Fixture.grant(1, to: "*", on: "t/${claim:tenant}/", effect: .deny),
            Fixture.grant(2, to: "*", on: "t/${claim:tenant}/"),
        ])
        #expect(access.grants.map(\.grant.id) == [Fixture.id(1)] && access.grants.map(\.prefix.rawValue) == ["t/"])
    }

    @Test func `quotas come with what is left for their holder`() async throws {
        let asked = Mutex<[QuotaHolding]>([])
        let access = try await access(
            [],
            [
                Fixture.quota(3, for: "*", sharing: .shared), Fixture.quota(1), Fixture.quota(2, for: "user:bob"),
                Fixture.quota(4, for: "group:staff", sharing: .each),
            ]
        ) { holdings in asked.withLock { $0 = holdings } }
        #expect(access.quotas.map(\.quota.id) == [1, 3, 4].map(Fixture.id))
        #expect(access.quotas.map(\.remainder.remaining) == [3, 3, 3])
        #expect(asked.withLock { $0.map(\.holder.rawValue) } == ["user:alice", "*", "user:alice"])
    }

    @Test func `quotas of other buckets are left out`() async throws {
        let quotas = try [
            Fixture.quota(1), Fixture.quota(2, bucket: "demo-bucket"), Fixture.quota(3, bucket: "another-bucket"),
        ]
        let access = try await access([], quotas, in: "demo-bucket")
        #expect(access.quotas.map(\.quota.id) == [1, 2].map(Fixture.id))
    }

    @Test(arguments: [(999, false), (1000, false), (1001, true), (1500, true)])
    func `the answer is bounded and says when there is more`(count: Int, isTruncated: Bool) async throws {
        let grants = try (1...count).map { try Fixture.grant($0, on: "k\($0)/") }
        let first = grants.map(\.prefix.text).sorted().prefix(1000)
        for limits in [PolicyCache.Limits(), PolicyCache.Limits(literalGrantLimit: 2000)] {
            let access = try await access(grants, limits: limits)
            #expect(access.grants.map(\.prefix.rawValue) == Array(first))
            #expect(access.isTruncated == isTruncated)
        }
    }

    @Test func `grants that are not held at once are all there, also those that deny`() async throws {
        var grants = try (1...257).map { try Fixture.grant($0, on: "k\($0)/") }
        grants.append(try Fixture.grant(258, on: "k3/private/", effect: .deny))
        let all = try await access(grants)
        #expect(Set(all.grants.map(\.grant.id)) == Set(grants.map(\.id)) && all.grants.count == 258)
        #expect(!all.isTruncated)
        for (prefix, places) in [
            ("k3/", ["k3/", "k3/private/"]), ("k3/private/x", ["k3/", "k3/private/"]), ("k3/public/", ["k3/"]),
            ("k3", []),
        ] {
            let some = try await access(grants, in: "demo-bucket", around: prefix)
            #expect(some.grants.map(\.prefix.rawValue) == places, "\(prefix)")
            #expect(!some.isTruncated)
        }
        #expect(try await access(grants, in: "another-bucket").grants.isEmpty)
    }

    @Test func `many grants of a group and of everyone are there beside those that are held`() async throws {
        var grants = try (1...257).map { try Fixture.grant($0, to: "group:staff", on: "g\($0)/") }
        grants += try (301...557).map { try Fixture.grant($0, to: "*", on: "e\($0)/") }
        grants += [
            try Fixture.grant(601, on: ""), try Fixture.grant(602, on: "g1/", in: "another-bucket"),
            try Fixture.grant(603, to: "*", on: "g1/${sub}/", effect: .deny),
        ]
        let all = try await access(grants)
        #expect(all.grants.count == 517 && !all.isTruncated)
        let some = try await access(grants, in: "demo-bucket", around: "g1/")
        #expect(some.grants.map(\.prefix.rawValue) == ["", "g1/", "g1/alice/"])
        let others = try await access(grants, in: "another-bucket")
        #expect(others.grants.map(\.grant.id) == [Fixture.id(602)])
    }

    @Test func `a prefix of many grants is listed where a prefix beside it has more than are shown`() async throws {
        var grants = try (1...1001).map { try Fixture.grant($0, on: "a/\($0)/") }
        grants.append(try Fixture.grant(1002, on: "b/"))
        #expect(try await access(grants).isTruncated)
        #expect(try await access(grants, in: "demo-bucket", around: "a/").isTruncated)
        let rest = try await access(grants, in: "demo-bucket", around: "b/")
        #expect(rest.grants.map(\.grant.id) == [Fixture.id(1002)] && !rest.isTruncated)
    }
}
