import Foundation
import GatewayCore
import LibPQ
import PostgresTesting
import Testing

@testable import GatewayPostgres

/// Reading the policy of the past.
@Suite struct PolicyHistoryTests {
    private struct World {
        let admin: AdminWorld
        let history: PostgresPolicyHistory

        init() throws {
            admin = try AdminWorld()
            let settings = PostgresIssuances.sessionSettings + [("role", "sluice_gateway")]
            let database = try TestDatabase.current
            history = PostgresPolicyHistory(
                pool: PostgresPool(try database.configuration(sessionSettings: settings), size: 1, logger: .silent),
                logger: .silent)
        }

        func sequence() async throws -> Int64 { try await admin.connection.position().sequence }
    }

    private let alice: Principal
    private let staff: Principal
    private let demo: BucketName

    init() throws {
        alice = try Principal("user:alice")
        staff = try Principal("group:staff")
        demo = try BucketName("demo")
    }

    @Test(.database(.migrated)) func membershipsAreKnownAtEachChange() async throws {
        let world = try World()
        let before = try await world.sequence()
        let member = GroupMember(group: staff, member: alice, createdAt: Date())
        func toggle() async throws -> (on: Int64, off: Int64) {
            _ = try await world.admin.stores.members.create(member, by: AdminWorld.change)
            let on = try await world.sequence()
            try await world.admin.stores.members.delete(member.identifier, by: AdminWorld.change)
            return (on, try await world.sequence())
        }
        let first = try await toggle()
        let second = try await toggle()
        for (sequence, groups) in [
            (before, []), (first.on, [staff]), (first.off, []), (second.on, [staff]), (second.off, []),
            (second.off + 10, []),
        ] {
            #expect(try await world.history.groups(of: alice, after: sequence) == groups, "after \(sequence)")
        }
        #expect(try await world.history.groups(of: staff, after: second.on) == [])
    }

    @Test(.database(.migrated)) func versionsOfGrantsStandWhereTheyStood() async throws {
        let world = try World()
        try await world.admin.makeBucket()
        let grants = world.admin.stores.grants
        let created = try await grants.create(.sample(), by: AdminWorld.change)
        let first = try await world.sequence()
        var changed = created.row
        changed.prefix = try KeyPrefix(literal: "team/narrow/")
        let stored = try await grants.update(changed, from: created.revision, by: AdminWorld.change)
        let second = try await world.sequence()
        let template = try await grants.create(.sample("*", "users/${sub}/", template: true), by: AdminWorld.change)
        let third = try await world.sequence()
        try await grants.delete(stored.id.lowercaseText, by: AdminWorld.change)
        try await grants.delete(template.id.lowercaseText, by: AdminWorld.change)
        let last = try await world.sequence()

        let wide = try ObjectKey("team/x"), narrow = try ObjectKey("team/narrow/x")
        func matching(_ key: ObjectKey, _ sequence: Int64) async throws -> [String] {
            try await world.history.grants(of: [alice, .anyone], in: demo, for: key, listing: nil, after: sequence)
                .map(\.prefix.text).sorted()
        }
        #expect(try await matching(wide, first - 1) == [])
        #expect(try await matching(wide, first) == ["team/"])
        #expect(try await matching(wide, second) == [])
        #expect(try await matching(narrow, first) == ["team/"])
        #expect(try await matching(narrow, third) == ["team/narrow/", "users/${sub}/"])
        #expect(try await matching(narrow, last) == [])
        #expect(
            try await world.history.grants(of: [staff], in: demo, for: narrow, listing: nil, after: third) == [],
            "others' are left out")
        #expect(try await world.history.grant(created.id, after: first)?.prefix.text == "team/")
        #expect(try await world.history.grant(created.id, after: third)?.prefix.text == "team/narrow/")
        #expect(try await world.history.grant(created.id, after: last) == nil)
    }

    @Test(.database(.migrated)) func `a listing has the denials below its folder, as they were`() async throws {
        let world = try World()
        try await world.admin.makeBucket()
        let grants = world.admin.stores.grants
        func deny(_ prefix: String) throws -> Grant {
            var grant = try Grant.sample("user:alice", prefix)
            (grant.actions, grant.effect, grant.conditions) = ([.listObjects], .deny, GrantConditions())
            return grant
        }
        _ = try await grants.create(deny("other/"), by: AdminWorld.change)
        let below = try await grants.create(deny("team/deep/x/"), by: AdminWorld.change).row
        let then = try await world.sequence()
        try await grants.delete(below.id.lowercaseText, by: AdminWorld.change)
        let later = try await world.sequence()
        func found(_ folder: String?, _ sequence: Int64) async throws -> [UUID] {
            try await world.history.grants(
                of: [alice], in: demo, for: ObjectKey("team/x"), listing: folder.map { ExactText($0) }, after: sequence
            ).map(\.id)
        }
        #expect(try await found("team/", then) == [below.id])
        #expect(try await found("team/deep/", then) == [below.id])
        #expect(try await found("team/x/", then) == [])
        #expect(try await found(nil, then) == [])
        #expect(try await found("team/", later) == [])
    }

    @Test(.database(.migrated)) func timesLeadToChanges() async throws {
        let world = try World()
        try await world.admin.makeBucket()
        let sequence = try await world.sequence()
        let moment = try #require(try await world.history.moment(ofChange: sequence))
        #expect(try await world.history.moment(at: moment.at) == moment)
        #expect(try await world.history.moment(at: Date().addingTimeInterval(3600)) == moment)
        // As answers show it: without what is less than a millisecond.
        let shown = Date(timeIntervalSince1970: (moment.at.timeIntervalSince1970 * 1000).rounded(.down) / 1000)
        #expect(try await world.history.moment(at: shown) == moment)
        let earlier = try await world.history.moment(at: moment.at.addingTimeInterval(-0.001_001))
        #expect(try earlier?.sequence == #require(await world.history.moment(ofChange: sequence - 1)).sequence)
        #expect(try await world.history.moment(at: Date(timeIntervalSince1970: 0)) == nil)
        #expect(try await world.history.moment(ofChange: sequence + 1) == nil)
    }

    @Test(.database(.migrated)) func whatIsNearIsFoundAmongMany() async throws {
        let world = try World()
        try await world.admin.makeBucket()
        try await world.admin.connection.runScript(
            """
            INSERT INTO grants (id, principal, bucket, prefix, is_template, actions, effect, created_by)
            SELECT gen_random_uuid(), 'user:alice', 'demo', 'p/' || lpad(n::text, 5, '0') || '/', false, '{GetObject}',
                'allow', 'test'
            FROM generate_series(1, 3000) n;
            SELECT append_policy_log('{user:alice}', 'test', '');
            """)
        let editors = try await world.admin.stores.grants.create(
            .sample("group:editors", "p/"), by: AdminWorld.change)
        let key = try ObjectKey("p/01500x/file")
        let found = try await world.history.grants(near: key, in: demo, of: [alice, .anyone])
        #expect(found.count == 41 && found.contains { $0.id == editors.id })
        #expect(found.contains { $0.prefix.text == "p/01500/" } && found.contains { $0.prefix.text == "p/01501/" })
    }
}
