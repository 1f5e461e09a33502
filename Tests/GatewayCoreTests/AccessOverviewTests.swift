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
        return try await overview.access(of: caller)
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

    @Test(arguments: [(999, false), (1000, false), (1001, true)])
    func `the answer is bounded and says when there is more`(count: Int, isTruncated: Bool) async throws {
        let grants = try (1...count).map { try Fixture.grant($0, on: "k\($0)/") }
        let access = try await access(grants, limits: PolicyCache.Limits(literalGrantLimit: 2000))
        #expect(access.grants.count == min(count, 1000))
        #expect(access.isTruncated == isTruncated)
    }

    @Test func `grants that are not held at once are said to be missing`() async throws {
        let grants = try (1...3).map { try Fixture.grant($0, on: "k\($0)/") }
        #expect(try await access(grants, limits: PolicyCache.Limits(literalGrantLimit: 2)).isTruncated)
        #expect(try await !access(grants, limits: PolicyCache.Limits(literalGrantLimit: 3)).isTruncated)
    }
}
