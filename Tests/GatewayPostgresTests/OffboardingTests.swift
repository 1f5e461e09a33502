import Foundation
import GatewayCore
import LibPQ
import PostgresTesting
import Synchronization
import Testing

@testable import GatewayPostgres
import LibCrypto

/// All that a user has, listed and removed together.
@Suite struct OffboardingTests {
    @Test(.database(.migrated)) func `all that gives a user access goes in one change, and nobody else's`() async throws
    {
        let world = try AdminWorld()
        try await world.makeBucket()
        try await furnish("alice", world)
        try await furnish("bob", world)
        let alice = try Principal("user:alice")
        let store = world.stores.offboarding
        let rows = try await store.rows(of: alice)
        #expect(
            rows.counts == [.grant: 2, .groupMember: 1, .apiKey: 1, .ticket: 1, .multipartUpload: 2])
        #expect(rows.count == 7 && rows.rows.count == 7)
        #expect(!rows.rows.contains { $0.document.contains("bob") || $0.document.contains("hash") })
        let (lines, audit) = (try await world.logLength(), try await world.audit().count)
        await #expect(throws: GatewayError.preconditionFailed) {
            try await store.remove(allOf: alice, seenAs: "another", by: AdminWorld.change)
        }
        #expect(try await store.rows(of: alice) == rows)
        #expect(try await world.logLength() == lines)
        #expect(try await store.remove(allOf: alice, seenAs: rows.tag, by: AdminWorld.change) == 7)
        #expect(try await world.logLength() == lines + 1)
        let scopes = Set(try await world.lastScopes())
        #expect(scopes == ["user:alice", "apikey:key-of-alice", "apikey:old-of-alice", "ticket:ticket-of-alice"])
        let told = try await world.audit().dropFirst(audit)
        #expect(
            told.count == 7 && told.allSatisfy { $0.contains("delete") && $0.contains("user:root request-7 before") })
        #expect(try await store.rows(of: alice).count == 0)
        #expect(try await store.remove(allOf: alice, seenAs: rows.tag, by: AdminWorld.change) == 0)
        #expect(try await world.logLength() == lines + 1)
        // Her tickets are revoked once more, which has a lasting effect.
        #expect(try await world.audit().count { $0.hasPrefix("delete Ticket user:alice user:root request-7") } == 1)
        #expect(try await store.rows(of: Principal("user:bob")).count == 7)
        // What only limits the user stays.
        let denies = "SELECT count(*) FROM grants WHERE principal = 'user:alice' AND removed_at IS NULL"
        #expect(try await world.connection.number(denies + " AND effect = 'deny'") == 1)
        #expect(try await world.connection.number(denies) == 1)
        #expect(try await world.connection.number("SELECT count(*) FROM quotas WHERE principal = 'user:alice'") == 1)
        let closed =
            "SELECT count(*) FROM multipart_uploads WHERE principal = 'user:alice' AND state = 'aborting' AND check_at <= now()"
        #expect(try await world.connection.number(closed) == 2)
        #expect(
            try await world.connection.number(
                "SELECT count(*) FROM group_member_history WHERE removed_change IS NOT NULL") == 1)
    }

    /// An admin compares the lines of an offboarding with those of other changes.
    @Test(.database(.migrated)) func `the audit has a row's same members, however the row goes`() async throws {
        let world = try AdminWorld()
        try await world.makeBucket()
        try await furnish("alice", world)
        try await furnish("bob", world)
        let (alice, bob) = (try Principal("user:alice"), try Principal("user:bob"))
        let documents: [ResourceKind: Statement<String, String>] = [
            .grant: GrantTable.document, .groupMember: GroupMemberTable.document, .apiKey: APIKeyTable.document,
            .ticket: TicketTable.document,
        ]
        let rows = try await world.stores.offboarding.rows(of: alice)
        for row in rows.rows {
            guard let document = documents[row.kind] else { continue }
            #expect(try await world.connection.execute(document, row.id) == [row.document], "\(row.kind)")
        }
        #expect(try await world.stores.offboarding.remove(allOf: alice, seenAs: rows.tag, by: AdminWorld.change) == 7)
        // Bob's go one by one.
        let uploads = PostgresMultipartUploads(
            pool: PostgresPool(
                try TestDatabase.current.configuration(sessionSettings: [(name: "role", value: "sluice_gateway")]),
                size: 1,
                logger: .silent),
            logger: .silent, now: { Date() })
        for row in try await world.stores.offboarding.rows(of: bob).rows {
            switch row.kind {
            case .grant: try await world.stores.grants.delete(row.id, by: AdminWorld.change)
            case .groupMember: try await world.stores.members.delete(row.id, by: AdminWorld.change)
            case .apiKey: try await world.stores.apiKeys.delete(row.id, by: AdminWorld.change)
            case .ticket: #expect(try await world.stores.tickets.revokeTickets(of: bob, by: AdminWorld.change) == 1)
            default:
                let state: MultipartUpload.State = row.document.contains(#""state": "open""#) ? .open : .starting
                let id = try #require(UUID(uuidString: row.id))
                #expect(try await uploads.abort(id, from: state, to: .aborting, by: AdminWorld.change))
            }
        }
        for kind in [ResourceKind.grant, .groupMember, .apiKey, .ticket, .multipartUpload] {
            let forms = try await world.connection.texts(
                """
                SELECT DISTINCT (SELECT string_agg(m, ' ' ORDER BY m) FROM jsonb_object_keys(d.document) AS m)
                FROM admin_audit a, LATERAL (SELECT coalesce(a.before #> '{items,0}', a.before)) AS d (document)
                WHERE a.kind = '\(kind.rawValue)' AND a.operation = 'delete'
                """)
            #expect(forms.count == 1, "\(kind): \(forms)")
        }
    }

    @Test(.database(.migrated)) func `a removal may take longer than other changes`() async throws {
        let world = try AdminWorld()
        try await world.makeBucket()
        let alice = try Principal("user:alice")
        _ = try await world.stores.grants.create(.sample("user:alice"), by: AdminWorld.change)
        let settings = PostgresAdminStores.sessionSettings.map { setting in
            setting.name == "statement_timeout" ? (name: setting.name, value: "1s") : setting
        }
        let pool = PostgresPool(
            try TestDatabase.current.configuration(sessionSettings: settings + [("role", "sluice_gateway")]), size: 1,
            logger: .silent)
        let store = PostgresOffboarding(pool: pool, logger: .silent)
        let tag = try await store.rows(of: alice).tag
        try await world.connection.runScript(
            """
            CREATE FUNCTION be_slow() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                PERFORM pg_sleep(1.5);
                RETURN NEW;
            END
            $$;
            CREATE TRIGGER is_slow BEFORE UPDATE ON grants FOR EACH ROW EXECUTE FUNCTION be_slow()
            """)
        #expect(try await store.remove(allOf: alice, seenAs: tag, by: AdminWorld.change) == 1)
        // The connection keeps its own limit.
        await #expect(throws: PostgresError.self) {
            try await pool.perform(Statement<Void, Void>("SELECT pg_sleep(1.5)"), ())
        }
        await pool.close()
    }

    @Test(.database(.migrated)) func `every change of a row is another tag`() async throws {
        let world = try AdminWorld()
        try await world.makeBucket()
        try await furnish("alice", world)
        let alice = try Principal("user:alice")
        let store = world.stores.offboarding
        var tags = [try await store.rows(of: alice).tag]
        let grant = try #require(
            try await world.stores.grants.list(ListQuery(filters: ["principal": "user:alice"])).items.first)
        let stored = try await world.stores.grants.get(grant.id.lowercaseText)
        _ = try await world.stores.grants.update(stored.row, from: stored.revision, by: AdminWorld.change)
        tags.append(try await store.rows(of: alice).tag)
        _ = try await world.stores.grants.create(.sample("user:alice", "third/"), by: AdminWorld.change)
        tags.append(try await store.rows(of: alice).tag)
        try await world.connection.runScript("UPDATE tickets SET revision = gen_random_uuid()")
        tags.append(try await store.rows(of: alice).tag)
        _ = try await world.stores.grants.create(.sample("user:bob"), by: AdminWorld.change)
        #expect(Set(tags).count == 4)
        #expect(try await store.rows(of: alice).tag == tags[3])
    }

    @Test(.database(.migrated)) func `rows that change meanwhile fail the whole, and '*' goes on`() async throws {
        let world = try AdminWorld()
        try await world.makeBucket()
        let alice = try Principal("user:alice")
        let offboarding = Offboarding(store: world.stores.offboarding, reports: NothingAlive())
        for round in 0..<10 {
            for number in 0..<5 {
                _ = try await world.stores.grants.create(
                    .sample("user:alice", "\(round)/\(number)/"), by: AdminWorld.change)
            }
            let rows = try await world.stores.offboarding.rows(of: alice)
            async let added = try? world.stores.grants.create(
                .sample("user:alice", "\(round)/new/"), by: AdminWorld.change)
            async let removed = try? world.stores.offboarding.remove(
                allOf: alice, seenAs: rows.tag, by: AdminWorld.change)
            let (isAdded, count) = await (added != nil, removed)
            #expect(isAdded)
            let left = try await world.stores.offboarding.rows(of: alice).count
            #expect(count == 5 ? left == 1 : left == 6, "\(String(describing: count)) \(left)")
            #expect(try await world.connection.number(Self.survivors) == 0)
            #expect(try await offboarding.offboard(alice, seenAs: nil, by: AdminWorld.change).rows.count == left)
        }
        // The audit has a line for each grant that was made, and one for each that was removed.
        #expect(try await world.connection.number("SELECT count(*) FROM admin_audit WHERE kind = 'Grant'") == 120)
    }

    /// Counts the live grants that are older, by the log, than a removal.
    private static let survivors = """
        SELECT count(*) FROM grants l JOIN policy_log m ON m.tag = l.created_change
        WHERE l.removed_at IS NULL AND EXISTS (
            SELECT FROM grants g JOIN policy_log r ON r.tag = g.removed_change
            WHERE g.principal = l.principal AND r.seq > m.seq
        )
        """

    @Test(.database(.migrated), .timeLimit(.minutes(1)))
    func `a row that is added while others are being removed fails the removal`() async throws {
        let world = try AdminWorld()
        try await world.makeBucket()
        let alice = try Principal("user:alice")
        let grant = try await world.stores.grants.create(.sample("user:alice"), by: AdminWorld.change)
        let tag = try await world.stores.offboarding.rows(of: alice).tag
        let other = try PostgresConnection(testing: TestDatabase.current.connectionString)
        try await other.runScript("BEGIN; SELECT FROM grants WHERE id = '\(grant.row.id)' FOR UPDATE")
        let removal = Task {
            try await world.stores.offboarding.remove(allOf: alice, seenAs: tag, by: AdminWorld.change)
        }
        try await world.connection.waitForBlocked(in: "%offboard_principal%")
        _ = try await world.stores.grants.create(.sample("user:alice", "new/"), by: AdminWorld.change)
        try await other.runScript("ROLLBACK")
        await #expect(throws: GatewayError.preconditionFailed) { try await removal.value }
        #expect(try await world.stores.offboarding.rows(of: alice).counts == [.grant: 2])
    }

    /// A line of the log has 1,000 scopes at most, of which the user's own is one.
    @Test(.database(.migrated), arguments: [999, 1000])
    func `a user may have as many tickets as a line has scopes`(count: Int) async throws {
        let world = try AdminWorld()
        let alice = try Principal("user:alice")
        try await world.connection.runScript(
            """
            INSERT INTO tickets (id, name, hash, principal, groups, claims, bucket, prefix, actions, max_uses,
                expires_at)
            SELECT gen_random_uuid(), 'ticket-' || n, sha256('x'), 'user:alice', '{}', '{}', 'demo', '', '{GetObject}',
                1, now() + interval '1 hour'
            FROM generate_series(1, \(count)) n
            """)
        let tag = try await world.stores.offboarding.rows(of: alice).tag
        #expect(
            try await world.stores.offboarding.remove(allOf: alice, seenAs: tag, by: AdminWorld.change) == Int64(count))
        let scopes = try await world.lastScopes()
        #expect(count < 1000 ? scopes.count == 1000 : scopes == ["all"])
    }

    /// Whoever reserves parts of several uploads locks these by ascending identifiers.
    @Test(.database(.migrated), .timeLimit(.minutes(1)))
    func `uploads are closed in the order in which others lock them`() async throws {
        let world = try AdminWorld()
        let alice = try Principal("user:alice")
        let id = "00000000-0000-7000-8000-00000000000"
        try await world.connection.runScript(
            """
            INSERT INTO multipart_uploads (id, principal, bucket, object_key, content_type, state, expires_at, check_at)
            SELECT ('\(id)' || (9 - n))::uuid, 'user:alice', 'demo', 'k', 'text/plain', 'open',
                now() + interval '1 hour', now() + interval '1 hour'
            FROM generate_series(1, 4) n
            """)
        let tag = try await world.stores.offboarding.rows(of: alice).tag
        let other = try PostgresConnection(testing: TestDatabase.current.connectionString)
        try await other.runScript("BEGIN; SELECT FROM multipart_uploads WHERE id = '\(id)5' FOR UPDATE")
        let removal = Task {
            try await world.stores.offboarding.remove(allOf: alice, seenAs: tag, by: AdminWorld.change)
        }
        try await world.connection.waitForBlocked(in: "%offboard_principal%")
        try await other.runScript("SELECT FROM multipart_uploads WHERE id = '\(id)8' FOR UPDATE NOWAIT; ROLLBACK")
        #expect(try await removal.value == 4)
    }

    /// Users issue from several connections while they are offboarded. The server's own commit times decide.
    @Test func `nothing is issued to a user after the offboarding`() async throws {
        var options = ClusterOptions()
        options.trackCommitTimestamp = true
        let cluster = try await TestCluster(options)
        let name = try await cluster.createDatabase(template: .migrated)
        let address = cluster.connectionString(database: name)
        let admin = try PostgresConnection(testing: address)
        try await admin.runScript(RevokeRaceTests.makeBucket)
        let race = Race()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<8 {
                let connection = try PostgresConnection(testing: address, settings: PostgresLedger.sessionSettings)
                group.addTask {
                    while !race.isOver.withLock({ $0 }) {
                        let user = "user:\(writer % 4)"
                        guard let grant = try await connection.execute(Self.grant, user).first else { continue }
                        let position = try await connection.position()
                        // The rows may have gone between the two reads, so the position is no newer than the grant.
                        guard try await connection.execute(Self.grant, user).first == grant else { continue }
                        for _ in 0..<5 {
                            let proposal = try IssuanceProposal.sample(at: position, principal: user, grantID: grant)
                            if try await connection.record([proposal]).allSatisfy(\.isRecorded) {
                                race.recorded.withLock { $0 += 1 }
                            }
                        }
                    }
                }
            }
            for round in 0..<100 {
                let user = "user:\(round % 4)"
                try await admin.runScript(
                    """
                    INSERT INTO grants (id, principal, bucket, prefix, is_template, actions, effect, created_by)
                    VALUES (gen_random_uuid(), '\(user)', 'demo', '', false, '{GetObject}', 'allow', 'test');
                    SELECT append_policy_log('{\(user)}', 'test', '')
                    """)
                let before = race.recorded.withLock { $0 }
                while race.recorded.withLock({ $0 }) < before + 3 { await Task.yield() }
                try await admin.runScript("SELECT offboard_principal('\(user)', NULL, 'user:root', '', NULL)")
            }
            race.isOver.withLock { $0 = true }
            try await group.waitForAll()
        }
        #expect(try await admin.number("SELECT count(*) FROM issuances") > 300)
        #expect(
            try await admin.number(
                """
                SELECT count(*) FROM issuances i JOIN grants g ON g.id = i.grant_id
                WHERE g.removed_at IS NOT NULL AND pg_xact_commit_timestamp(i.xmin) > pg_xact_commit_timestamp(g.xmin)
                """) == 0)
        #expect(try await admin.number("SELECT count(*) FROM grants WHERE removed_at IS NULL") == 0)
        try await cluster.stop()
    }

    private static let grant = Statement<String, UUID>(
        "SELECT g.id FROM grants g WHERE g.principal = $1 AND g.removed_at IS NULL"
    ) {
        [$0]
    } decode: { row throws(PostgresError) in
        try row.next()
    }

    /// Gives a user rows of each kind, some that only limit it, and some that are over.
    private func furnish(_ name: String, _ world: AdminWorld) async throws {
        let user = "user:\(name)"
        var deny = try Grant.sample(user, "denied/")
        deny.effect = .deny
        deny.conditions = GrantConditions()
        _ = try await world.stores.grants.create(deny, by: AdminWorld.change)
        for prefix in ["a/", "b/"] {
            _ = try await world.stores.grants.create(.sample(user, prefix), by: AdminWorld.change)
        }
        let former = try await world.stores.grants.create(.sample(user, "former/"), by: AdminWorld.change)
        try await world.stores.grants.delete(former.id.lowercaseText, by: AdminWorld.change)
        let member = GroupMember(group: try .group("staff"), member: try Principal(user), createdAt: Date())
        _ = try await world.stores.members.create(member, by: AdminWorld.change)
        _ = try await world.stores.quotas.create(.sample(limit: 5, principal: Principal(user)), by: AdminWorld.change)
        var key = try APIKey.sample(prefix: "key-of-\(name)", principal: user)
        key.previousKey = APIKey.PreviousKey(
            prefix: "old-of-\(name)", hash: DigestAlgorithm.sha256.digest(of: "1"),
            expiresAt: Date(timeIntervalSince1970: 2e9))
        _ = try await world.stores.apiKeys.create(key, by: AdminWorld.change)
        try await world.connection.runScript(
            """
            INSERT INTO tickets (id, name, hash, principal, groups, claims, bucket, prefix, actions, max_uses, expires_at)
            SELECT gen_random_uuid(), n.name || '-of-\(name)', sha256('x'), '\(user)', '{}', '{}', 'demo', '',
                '{GetObject}', 1, now() + n.life
            FROM (VALUES ('ticket', interval '1 hour'), ('ended', interval '-1 hour')) AS n (name, life);
            INSERT INTO multipart_uploads (id, principal, bucket, object_key, content_type, state, expires_at, check_at)
            SELECT gen_random_uuid(), '\(user)', 'demo', 'k', 'text/plain', s.state, now() + interval '1 hour',
                now() + interval '1 hour'
            FROM unnest('{starting,open,completing,completed,aborting,aborted}'::text[]) AS s (state)
            """)
    }
}

/// What the tasks of a race know of each other.
private final class Race: Sendable {
    let isOver = Mutex(false)
    let recorded = Mutex(0)
}

/// A ledger in which nothing is alive.
private struct NothingAlive: LedgerReports {
    func usage(
        _ query: UsageQuery, in range: LedgerRange, after place: UsageQuery.Place?, limit: Int
    ) async throws(GatewayError) -> [Usage] {
        throw .unavailable(retryAfter: 1)
    }

    func denials(
        _ query: DenialQuery, in range: LedgerRange, after place: DenialQuery.Place?, limit: Int
    ) async throws(GatewayError) -> [CountedDenial] {
        throw .unavailable(retryAfter: 1)
    }

    func settlingBacklog() async throws(GatewayError) -> SettlingBacklog {
        throw .unavailable(retryAfter: 1)
    }

    func grantUse(
        _ query: GrantUseQuery, from: Date, unusedSince since: Date, after place: UUID?, limit: Int
    ) async throws(GatewayError) -> [GrantUse] {
        throw .unavailable(retryAfter: 1)
    }

    func blastRadius(
        of cause: BlastRadius.Cause, within reach: AdminReach, deadline: ContinuousClock.Instant?
    ) async throws(GatewayError) -> BlastRadius {
        BlastRadius(
            count: 0, aliveUntil: nil, principalCount: 0, principals: [], deliveries: [], buckets: [], credentials: [],
            grants: [], sessionCount: 0, sessions: [])
    }
}
