import Foundation
import GatewayCore
import LibPQ
import PostgresTesting
import Testing

@testable import GatewayPostgres

/// Batches of changes to grants.
@Suite struct GrantBatchTests {
    /// The error that a batch ends with.
    private func refusal(_ body: () async throws -> Void) async -> (first: ItemRefusal, more: [ItemRefusal])? {
        do {
            try await body()
        } catch GatewayError.itemsRefused(let first, let more) {
            return (first, more)
        } catch {
            Issue.record("\(error)")
        }
        return nil
    }

    @Test(.database(.migrated)) func aBatchIsOneChangeWithALineOfTheAuditForEachGrant() async throws {
        let world = try AdminWorld()
        try await world.makeBucket()
        let kept = try await world.stores.grants.create(.sample("user:kept"), by: AdminWorld.change)
        let old = try await world.stores.grants.create(.sample("user:old"), by: AdminWorld.change)
        let gone = try await world.stores.grants.create(.sample("user:gone"), by: AdminWorld.change)
        let before = try await world.logLength()
        let audited = try await world.audit().count
        var changed = old.row
        changed.principal = try Principal("group:new")
        changed.note = "other"
        let result = try await world.apply(
            [(nil, .sample("user:fresh")), (kept.id, kept.row), (old.id, changed)], deletes: [gone.id])
        #expect(try await world.logLength() == before + 1)
        #expect(Set(try await world.lastScopes()) == ["user:fresh", "user:old", "group:new", "user:gone"])
        #expect(result.counts == GrantCounts([.created: 1, .updated: 1, .deleted: 1, .unchanged: 1]))
        #expect(result.writes.map(\.outcome) == [.created, .unchanged, .updated])
        #expect(result.writes[1].revision == kept.revision && result.writes[2].revision == result.change)

        let fresh = try await world.stores.grants.get(try #require(result.writes[0].id).lowercaseText)
        #expect(fresh.revision == result.change && fresh.createdBy == "user:root")
        #expect(abs(fresh.createdAt.timeIntervalSinceNow) < 60)
        #expect(fresh.row.content == (try Grant.sample("user:fresh").content))
        #expect((result.writes[0].id?.uuid.6 ?? 0) >> 4 == 7, "identifiers are of version 7")
        let now = try await world.stores.grants.get(old.id.lowercaseText)
        #expect(now.principal.rawValue == "group:new" && now.createdAt == old.createdAt)
        await #expect(throws: GatewayError.notFound(.grant)) {
            try await world.stores.grants.get(gone.id.lowercaseText)
        }
        let lines = try await world.audit().dropFirst(audited)
        #expect(lines.count == 3 && lines.allSatisfy { $0.contains(" user:root request-7 ") })
        #expect(lines.contains { $0.hasPrefix("update Grant \(old.id.lowercaseText)") && $0.contains("\"other\"") })
        #expect(lines.contains { $0.hasPrefix("delete Grant \(gone.id.lowercaseText)") && !$0.contains("after {") })
        #expect(lines.contains { $0.hasPrefix("create Grant") && !$0.contains("before {") })
        #expect(
            try await world.connection.number("SELECT count(*) FROM grant_history WHERE removed_seq = \(before + 1)")
                == 2)
    }

    @Test(.database(.migrated)) func theAuditHasTheSameFormAsForSingleChanges() async throws {
        let world = try AdminWorld()
        try await world.makeBucket()
        let made = try await world.stores.grants.create(.sample(), by: AdminWorld.change)
        let single = try #require(try await world.audit().last)
        try await world.stores.grants.delete(made.id.lowercaseText, by: AdminWorld.change)
        let result = try await world.apply([(nil, .sample())])
        let id = try #require(result.writes[0].id).lowercaseText
        let stored = try await world.stores.grants.get(id)
        let batch = try #require(try await world.audit().last)
        func plain(_ line: String, _ id: UUID, _ created: Date) -> String {
            line.replacing(id.lowercaseText, with: "ID").replacing(/"createdAt": "[^"]*"/, with: "")
        }
        #expect(plain(single, made.id, made.createdAt) == plain(batch, stored.id, stored.createdAt))
    }

    @Test(.database(.migrated)) func aDryRunAndABatchWithoutChangesWriteNothing() async throws {
        let world = try AdminWorld()
        try await world.makeBucket()
        let there = try await world.stores.grants.create(.sample(), by: AdminWorld.change)
        let before = (try await world.logLength(), try await world.audit().count)
        let dry = try await world.apply([(nil, .sample("user:b"))], deletes: [there.id], isDryRun: true)
        #expect(dry.change == nil && dry.counts == GrantCounts([.created: 1, .deleted: 1]) && dry.writes[0].id == nil)
        let same = try await world.apply([(there.id, there.row)])
        #expect(same.change == nil && same.counts == GrantCounts([.unchanged: 1]))
        #expect(try await world.apply([]).counts == GrantCounts())
        #expect(try await world.logLength() == before.0)
        #expect(try await world.audit().count == before.1)
        #expect(try await world.connection.number("SELECT count(*) FROM policy_changes") == before.0)
    }

    @Test(.database(.migrated)) func whatIsWrongIsNamedAndNothingIsDone() async throws {
        let world = try AdminWorld()
        try await world.makeBucket()
        let there = try await world.stores.grants.create(.sample(), by: AdminWorld.change)
        let unknown = UUID()
        let missing = await refusal {
            try await world.apply(
                [(nil, .sample("user:b")), (unknown, .sample())], deletes: [there.id, UUID(), UUID()])
        }
        #expect(missing?.first == ItemRefusal(.item(array: "writes", index: 1), .notFound(.grant)))
        #expect(missing?.more.map(\.place) == [.item(array: "deletes", index: 1), .item(array: "deletes", index: 2)])
        let bucketless = await refusal {
            try await world.apply(
                [(nil, .sample()), (nil, .sample(bucket: "nowhere")), (there.id, .sample(bucket: "nowhere"))])
        }
        let reason = GatewayError.conflict(reason: "The bucket does not exist.")
        #expect(bucketless?.first == ItemRefusal(.item(array: "writes", index: 1), reason))
        #expect(bucketless?.more == [ItemRefusal(.item(array: "writes", index: 2), reason)])
        #expect(try await world.exported().count == 1)
    }

    @Test(.database(.migrated)) func aTwinIsNamedOnlyIfItExists() async throws {
        let world = try AdminWorld()
        try await world.makeBucket()
        let there = try await world.stores.grants.create(.sample("user:twin"), by: AdminWorld.change)
        let known = GatewayError.alreadyExists(.grant, id: there.id.uuidString.lowercased())
        let earlier = GatewayError.conflict(reason: "An earlier grant of this change says the same.")
        func place(_ index: Int) -> ItemRefusal.Place { .item(array: "writes", index: index) }

        let new = await refusal { try await world.apply([(nil, .sample("user:new")), (nil, .sample("user:new"))]) }
        #expect(new?.first == ItemRefusal(place(1), earlier) && new?.more.isEmpty == true)
        let outside = await refusal { try await world.apply([(nil, .sample("user:twin"))]) }
        #expect(outside?.first == ItemRefusal(place(0), known) && outside?.more.isEmpty == true)
        let unchanged = await refusal {
            try await world.apply([(nil, .sample("user:twin")), (there.id, there.row)])
        }
        #expect(unchanged?.first == ItemRefusal(place(0), known) && unchanged?.more.isEmpty == true)
        // Its twin goes with the same change.
        try await world.apply([(nil, .sample("user:twin"))], deletes: [there.id])
        #expect(try await world.exported().count == 1)
    }

    @Test(.database(.migrated)) func anItemMadeForAnotherStateIsRefused() async throws {
        let world = try AdminWorld()
        try await world.makeBucket()
        let there = try await world.stores.grants.create(.sample(), by: AdminWorld.change)
        let bulk = try world.bulk()
        func apply(_ revision: UUID, removes: Bool) async throws -> GrantBatchResult {
            let write = ProposedGrant(place: 0, id: there.id, revision: revision, grant: try .sample("user:b"))
            return try await bulk.apply(
                GrantBatch(
                    writes: removes ? [] : [write],
                    removals: removes ? [GrantRemoval(id: there.id, revision: revision)] : [], isDryRun: false),
                by: AdminWorld.change)
        }
        #expect(
            await refusal { _ = try await apply(UUID(), removes: false) }?.first
                == ItemRefusal(.item(array: "writes", index: 0), .preconditionFailed))
        #expect(
            await refusal { _ = try await apply(UUID(), removes: true) }?.first
                == ItemRefusal(.item(array: "deletes", index: 0), .preconditionFailed))
        let changed = try await apply(there.revision, removes: false)
        #expect(try await apply(try #require(changed.writes[0].revision), removes: true).counts[.deleted] == 1)
    }

    @Test(.database(.migrated)) func templatesStayWithinTheirNumber() async throws {
        let world = try AdminWorld()
        try await world.makeBucket()
        let first = try await world.apply((0..<60).map { (nil, try .plain(prefix: $0)) })
        let ids = first.writes.compactMap(\.id)
        let surplus = await refusal { try await world.apply((60..<65).map { (nil, try .plain(prefix: $0)) }) }
        #expect(surplus?.first.place == .item(array: "writes", index: 4))
        // Removals make room; changes take none.
        let result = try await world.apply(
            (60..<65).map { (nil, try .plain(prefix: $0)) } + [(ids[1], try .plain(prefix: 99))], deletes: [ids[0]])
        #expect(result.counts == GrantCounts([.created: 5, .updated: 1, .deleted: 1]))
        await #expect(throws: GatewayError.self) {
            try await world.stores.grants.create(try .plain(prefix: 100), by: AdminWorld.change)
        }
        #expect(try await world.apply([(nil, try .plain(prefix: 0, of: "user:other"))]).counts[.created] == 1)
    }

    @Test(.database(.migrated)) func aChangeOfManyPrincipalsIsOfAll() async throws {
        let world = try AdminWorld()
        try await world.makeBucket()
        let writes = try (0..<1000).map { (nil as UUID?, try Grant.plain("user:\($0)")) }
        try await world.apply(writes)
        #expect(try await world.lastScopes().count == 1000)
        try await world.apply(try (0..<1001).map { (nil, try .plain("user:\($0)", "b/")) })
        #expect(try await world.lastScopes() == ["all", "callers"])
    }

    @Test(.database(.migrated)) func tooManyAtOnceAreToldToComeAgain() async throws {
        let world = try AdminWorld()
        try await world.makeBucket()
        let bulk = try world.bulk(limit: 1)
        var reader: GrantReader? = try await bulk.export([:], within: .unlimited)
        await #expect(throws: GatewayError.slowDown(retryAfter: 5)) { try await bulk.export([:], within: .unlimited) }
        _ = try await reader?.next()
        reader = nil
        _ = try await bulk.export([:], within: .unlimited)
    }

    @Test(.database(.migrated)) func exportsThatNobodyReadsLeaveRoomForChanges() async throws {
        let world = try AdminWorld()
        try await world.makeBucket()
        let bulk = try world.bulk(limit: 4)
        var readers: [GrantReader] = []
        for _ in 0..<2 { readers.append(try await bulk.export([:], within: .unlimited)) }
        await #expect(throws: GatewayError.slowDown(retryAfter: 5)) { try await bulk.export([:], within: .unlimited) }
        let write = ProposedGrant(place: 0, id: nil, grant: try .plain("user:alice", "b/"))
        let batch = GrantBatch(writes: [write], removals: [], isDryRun: false)
        #expect(try await bulk.apply(batch, by: AdminWorld.change).counts[.created] == 1)
        readers.removeLast()
        readers.append(try await bulk.export([:], within: .unlimited))
        #expect(readers.count == 2)
    }
}

extension Grant {
    fileprivate static func plain(prefix number: Int, of principal: String = "user:alice") throws -> Grant {
        try plain(principal, "t\(number)/${sub}/")
    }
}
