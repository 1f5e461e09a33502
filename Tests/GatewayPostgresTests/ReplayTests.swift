import Foundation
import GatewayCore
import LibPQ
import PostgresTesting
import Testing

@testable import GatewayPostgres

/// Replays of the ledger under a change, over real rows.
@Suite struct ReplayTests {
    private typealias Row = LedgerWorld.Row

    private func query(
        _ buckets: [String], of principals: [String]? = nil, members: [String] = [], limit: Int = 100,
        label: String = "x"
    ) throws -> ReplayQuery {
        ReplayQuery(
            label: label, from: Date().addingTimeInterval(-7 * 86_400), to: Date().addingTimeInterval(60),
            buckets: try buckets.map { try BucketName($0) },
            principals: try principals.map { try $0.map { try Principal($0) } },
            members: try members.map { try Principal($0) }, limit: limit, pageToken: nil)
    }

    @Test(.database(.migrated)) func readsWhatAChangeMayBearOn() async throws {
        let world = try LedgerWorld()
        try await world.write([
            Row(key: "a"), Row(principal: "user:bob", key: "b"), Row(bucket: "other", key: "c"),
            Row(principal: "user:bob", bucket: "other", key: "d"),
            Row(at: LedgerWorld.noon.addingTimeInterval(-86_400), key: "e"),
        ])
        func keys(_ query: ReplayQuery) async throws -> Set<String> {
            Set(try await world.reader.issuances(query).items.map(\.key))
        }
        #expect(try await keys(query(["demo"])) == ["a", "b", "e"])
        #expect(try await keys(query(["demo"], of: ["user:bob"])) == ["b"])
        #expect(try await keys(query(["demo"], of: [])) == [])
        #expect(try await keys(query([], members: ["user:bob"])) == ["b", "d"])
        var paged = try query(["demo"], limit: 1)
        var seen: [String] = []
        repeat {
            let page = try await world.reader.issuances(paged)
            seen += page.items.map(\.key)
            paged.pageToken = page.nextPageToken
        } while paged.pageToken != nil
        #expect(seen.count == 3 && seen.last == "e")
        paged = try query(["demo"], limit: 1)
        let token = try await world.reader.issuances(paged).nextPageToken
        paged.label = "another"
        paged.pageToken = token
        await #expect(throws: GatewayError.self) { try await world.reader.issuances(paged) }
    }

    @Test(.database(.migrated)) func replaysUnderAChange() async throws {
        let world = try LedgerWorld()
        let admin = try AdminWorld()
        try await admin.makeBucket()
        var wide = try Grant.sample("*", "")
        wide.conditions = GrantConditions()
        let grant = try await admin.stores.grants.create(wide, by: AdminWorld.change).row
        var template = try Grant.sample("*", "tenants/${claim:tenant}/", template: true)
        template.conditions = GrantConditions()
        template = try await admin.stores.grants.create(template, by: AdminWorld.change).row
        try await world.write(
            (0..<40).map { Row(matched: "*", grant: grant.id, key: "team/\($0)") }
                + [Row(matched: "*", grant: template.id, key: "tenants/acme/x")])
        let templates = try await world.reader.templates(among: [grant.id, template.id])
        #expect(templates.mapValues { $0.map(\.prefix) } == [template.id: [template.prefix]])
        let simulator = Simulator(
            source: admin.source, ledger: world.reader, grants: admin.stores.grants,
            limits: .init(maxRows: 30, chunk: 10), now: { Date() }, instant: { ContinuousClock.now })
        let proposal = PolicyProposal(removals: [grant.id])
        let first = try await simulator.simulate(proposal, days: 7, label: "x", pageToken: nil)
        #expect(first.examined == 30 && first.nextPageToken != nil)
        let rest = try await simulator.simulate(proposal, days: 7, label: "x", pageToken: first.nextPageToken)
        #expect(first.refused + rest.refused == 40 && rest.nextPageToken == nil)
        #expect(first.policySequence == (try await admin.connection.position().sequence))
    }

    @Test(.database(.migrated)) func membershipsAreKnownAsTheyWereAfterEachChange() async throws {
        let world = try LedgerWorld()
        let admin = try AdminWorld()
        let membership = PolicyProposal.Membership(
            group: try Principal("group:staff"), member: try Principal("user:alice"))
        let another = PolicyProposal.Membership(group: membership.group, member: try Principal("user:bob"))
        var changes: [Int64] = []
        for _ in 0..<2 {
            let row = GroupMember(group: membership.group, member: membership.member, createdAt: Date())
            let stored = try await admin.stores.members.create(row, by: AdminWorld.change)
            changes.append(try await admin.connection.position().sequence)
            if changes.count == 1 {
                try await admin.stores.members.delete(stored.row.identifier, by: AdminWorld.change)
                changes.append(try await admin.connection.position().sequence)
            }
        }
        let found = try await world.reader.memberships(among: [membership, another])
        #expect(Array(found.keys) == [membership])
        #expect(
            found[membership]?.sorted { $0.lowerBound < $1.lowerBound }
                == [changes[0]..<changes[1], changes[2]..<Int64.max])
    }

    @Test(.database(.migrated)) func templatesAreKnownAsTheyWereAfterEachChange() async throws {
        let world = try LedgerWorld()
        let admin = try AdminWorld()
        try await admin.makeBucket()
        var changes: [Int64] = []
        var stored = try await admin.stores.grants.create(
            .sample("*", "tenants/${claim:tenant}/", template: true), by: AdminWorld.change)
        let id = stored.id
        changes.append(try await admin.connection.position().sequence)
        var grant = stored.row
        grant.note = "another"
        stored = try await admin.stores.grants.update(grant, from: stored.revision, by: AdminWorld.change)
        let prefixes = [grant.prefix, try KeyPrefix(template: "areas/${claim:area}/")]
        grant.prefix = prefixes[1]
        stored = try await admin.stores.grants.update(grant, from: stored.revision, by: AdminWorld.change)
        changes.append(try await admin.connection.position().sequence)
        try await admin.stores.grants.delete(id.lowercaseText, by: AdminWorld.change)
        changes.append(try await admin.connection.position().sequence)
        #expect(
            try await world.reader.templates(among: [id]) == [
                id: [
                    PastTemplate(prefix: prefixes[0], since: changes[0], until: changes[1]),
                    PastTemplate(prefix: prefixes[1], since: changes[1], until: changes[2]),
                ]
            ])
    }
}
