import Foundation
import GatewayCore
import LibPQ
import PostgresTesting
import Testing

@testable import GatewayPostgres

/// Changes that contradict other rows, in sequence and concurrently.
@Suite struct AdminConflictTests {
    private func isConflict(_ body: () async throws -> Void) async -> Bool {
        do {
            try await body()
            return false
        } catch {
            if case .conflict = error as? GatewayError { return true }
            return false
        }
    }

    @Test(.database(.migrated)) func whatIsReferredToStays() async throws {
        let world = try AdminWorld()
        let stores = world.stores
        #expect(
            await isConflict { _ = try await stores.buckets.create(.sample(credential: UUID()), by: AdminWorld.change) }
        )
        #expect(await isConflict { _ = try await stores.grants.create(.sample(), by: AdminWorld.change) })
        let bucket = try await world.makeBucket()
        let credential = bucket.credentialID.uuidString.lowercased()
        #expect(await isConflict { try await stores.credentials.delete(credential, by: AdminWorld.change) })

        let grant = try await stores.grants.create(.sample(), by: AdminWorld.change).row
        #expect(await isConflict { try await stores.buckets.delete("demo", by: AdminWorld.change) })
        try await stores.grants.delete(grant.id.uuidString.lowercased(), by: AdminWorld.change)
        var quota = Quota.sample(limit: 1)
        quota.bucket = bucket.name
        quota = try await stores.quotas.create(quota, by: AdminWorld.change).row
        #expect(await isConflict { try await stores.buckets.delete("demo", by: AdminWorld.change) })
        try await stores.quotas.delete(quota.id.uuidString.lowercased(), by: AdminWorld.change)

        // The removed grant does not keep the bucket, and remains as history.
        let lines = try await world.connection.number("SELECT count(*) FROM policy_log")
        try await stores.buckets.delete("demo", by: AdminWorld.change)
        try await stores.credentials.delete(credential, by: AdminWorld.change)
        #expect(try await world.connection.number("SELECT count(*) FROM policy_log") == lines + 2)
        #expect(
            try await world.connection.number(
                "SELECT count(*) FROM grant_history WHERE removed_seq > created_seq AND removed_by = 'user:root'") == 1)
    }

    @Test(.database(.migrated)) func noGrantOutlivesItsBucket() async throws {
        let world = try AdminWorld()
        let credential = try await world.stores.credentials.create(.sample(), by: AdminWorld.change).row
        for _ in 0..<20 {
            _ = try await world.stores.buckets.create(.sample(credential: credential.id), by: AdminWorld.change)
            let outcomes = await withTaskGroup(of: Bool.self) { group in
                group.addTask { (try? await world.stores.buckets.delete("demo", by: AdminWorld.change)) != nil }
                group.addTask { (try? await world.stores.grants.create(.sample(), by: AdminWorld.change)) != nil }
                return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(outcomes == 1)
            for grant in try await world.stores.grants.list(ListQuery()).items {
                try await world.stores.grants.delete(grant.id.uuidString.lowercased(), by: AdminWorld.change)
            }
            try? await world.stores.buckets.delete("demo", by: AdminWorld.change)
        }
    }

    /// Of two changes that lock one row, the second waits for the first, however long. The lock also settles the
    /// reverse order.
    @Test(.database(.migrated)) func aGrantUnderWayKeepsItsBucket() async throws {
        let world = try AdminWorld()
        try await world.makeBucket()
        let blocker = try PostgresConnection(testing: TestDatabase.current.connectionString)
        try await blocker.runScript("BEGIN")
        _ = try await blocker.execute(GrantTable.lockBucket, "demo")
        await #expect(throws: GatewayError.unavailable(retryAfter: 1)) {
            try await world.stores.buckets.delete("demo", by: AdminWorld.change)
        }
        try await blocker.runScript("ROLLBACK")
        try await world.stores.buckets.delete("demo", by: AdminWorld.change)
    }

    @Test(.database(.migrated)) func aBusyPolicyLockIsAnsweredSoonAndNothingIsLeft() async throws {
        let world = try AdminWorld()
        let blocker = try PostgresConnection(testing: TestDatabase.current.connectionString)
        try await blocker.runScript("BEGIN; SELECT pg_advisory_xact_lock_shared(advisory_lock('policy'))")
        await #expect(throws: GatewayError.unavailable(retryAfter: 1)) {
            try await world.stores.apiKeys.create(.sample(), by: AdminWorld.change)
        }
        try await blocker.runScript("ROLLBACK")
        #expect(try await world.connection.number("SELECT count(*) FROM api_keys") == 0)
        #expect(try await world.connection.number("SELECT count(*) FROM admin_audit") == 0)
        _ = try await world.stores.apiKeys.create(.sample(), by: AdminWorld.change)
    }

    @Test(.database(.migrated)) func templatesStayWithinTheirLimitWhenManyAreAddedAtOnce() async throws {
        let world = try AdminWorld()
        try await world.makeBucket()
        let created = await withTaskGroup(of: Bool.self) { group in
            for index in 0..<80 {
                group.addTask {
                    (try? await world.stores.grants.create(
                        .sample("user:alice", "t\(index)/${sub}/", template: true), by: AdminWorld.change)) != nil
                }
            }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(created == 64)
        #expect(try await world.connection.number("SELECT count(*) FROM grants WHERE is_template") == 64)
        // Other principals have their own 64, and literal grants do not count.
        _ = try await world.stores.grants.create(.sample("user:bob", "${sub}/", template: true), by: AdminWorld.change)
        _ = try await world.stores.grants.create(.sample(), by: AdminWorld.change)
        #expect(
            await isConflict {
                _ = try await world.stores.grants.create(
                    .sample("user:alice", "${sub}/", template: true), by: AdminWorld.change)
            })
    }

    @Test(
        .database(.migrated),
        arguments: [("a", "ab"), ("ab", "a"), ("", "x"), ("x", ""), ("x", "x"), ("é", "é|")])
    func issuersWhosePrefixesBeginEachOtherExclude(_ first: String, _ second: String) async throws {
        let world = try AdminWorld()
        _ = try await world.stores.issuers.create(
            .sample("https://one", prefix: first, groupPrefix: "1|"), by: AdminWorld.change)
        #expect(
            await isConflict {
                _ = try await world.stores.issuers.create(
                    .sample("https://two", prefix: second, groupPrefix: "2|"), by: AdminWorld.change)
            })
        #expect(
            await isConflict {
                _ = try await world.stores.issuers.create(
                    .sample("https://two", prefix: "other|", groupPrefix: "1|x"), by: AdminWorld.change)
            })
        await #expect(throws: GatewayError.alreadyExists(.issuer)) {
            try await world.stores.issuers.create(
                .sample("https://one", prefix: "z", groupPrefix: "z"), by: AdminWorld.change)
        }
    }

    @Test(.database(.migrated)) func ofIssuersAtOnceOneWins() async throws {
        let world = try AdminWorld()
        let created = await withTaskGroup(of: Bool.self) { group in
            for index in 0..<12 {
                group.addTask {
                    let prefix = String(repeating: "a", count: index)
                    return
                        (try? await world.stores.issuers.create(
                            .sample("https://\(index)", prefix: prefix), by: AdminWorld.change)) != nil
                }
            }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(created == 1)
    }

    @Test(.database(.migrated)) func ofRemovalsAtOnceOneIsToldOf() async throws {
        let world = try AdminWorld()
        try await world.makeBucket()
        let grant = try await world.stores.grants.create(.sample(), by: AdminWorld.change).row
        let member = try await world.stores.members.create(
            GroupMember(group: try Principal("group:g"), member: try Principal("user:u"), createdAt: Date()),
            by: AdminWorld.change
        ).row
        let id = grant.id.uuidString
        await #expect(throws: GatewayError.notFound(.grant)) {
            try await world.stores.grants.delete(id, by: AdminWorld.change)
        }
        let removed = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    (try? await world.stores.grants.delete(id.lowercased(), by: AdminWorld.change)) != nil
                }
                group.addTask {
                    (try? await world.stores.members.delete(member.identifier, by: AdminWorld.change)) != nil
                }
            }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(removed == 2)
        #expect(try await world.audit().count { $0.hasPrefix("delete ") } == 2)
    }

    /// A membership has no lock, so another may take its place before it is removed.
    @Test(.database(.migrated)) func aMembershipMadeAnewIsNotRemovedForTheOneBefore() async throws {
        let world = try AdminWorld()
        let member = GroupMember(group: try Principal("group:g"), member: try Principal("user:u"), createdAt: Date())
        let before = try await world.stores.members.create(member, by: AdminWorld.change).revision
        let id = member.identifier
        func remove(_ revision: UUID?) async throws {
            try await world.connection.withTransaction { transaction in
                let removal = Removal(id: id, actor: "user:root", revision: revision)
                try AdminTable<GroupMember>.groupMembers.delete(removal, transaction)
                try transaction.perform(
                    Statement<[String], Void>("SELECT append_policy_log($1, 'test', '')") { [$0] }, ["user:u"])
            }
        }
        try await remove(before)
        let anew = try await world.stores.members.create(member, by: AdminWorld.change).revision
        await #expect(throws: GatewayError.preconditionFailed) { try await remove(before) }
        #expect(try await world.stores.members.get(id).revision == anew)
        try await remove(nil)
        await #expect(throws: GatewayError.notFound(.groupMember)) { try await remove(anew) }
    }

    /// Whoever waits for a version that is replaced finds the next one, or is told to try again.
    @Test(.database(.migrated), .timeLimit(.minutes(2)))
    func aRowThatIsReplacedAgainAndAgainIsNotGone() async throws {
        let world = try AdminWorld()
        try await world.makeBucket()
        let grant = try await world.stores.grants.create(.sample(), by: AdminWorld.change).row
        let id = grant.id.uuidString.lowercased()
        let writer = try PostgresConnection(testing: TestDatabase.current.connectionString)
        // Without checks of foreign keys, so that one version follows another without a pause.
        try await writer.runScript("SET session_replication_role = replica")
        let replacing = Task {
            try await writer.runScript(
                """
                DO $$
                BEGIN
                    FOR i IN 1..1000 LOOP
                        UPDATE grants
                        SET removed_at = clock_timestamp(), removed_by = 'user:x', removed_change = gen_random_uuid()
                        WHERE id = '\(id)' AND removed_at IS NULL;
                        EXIT WHEN NOT FOUND;
                        INSERT INTO grants (id, principal, bucket, prefix, is_template, actions, effect, conditions,
                            created_by, created_change)
                        SELECT g.id, g.principal, g.bucket, g.prefix, g.is_template, g.actions, g.effect, g.conditions,
                            g.created_by, gen_random_uuid()
                        FROM grants g WHERE g.id = '\(id)' ORDER BY g.removed_at DESC LIMIT 1;
                        COMMIT;
                    END LOOP;
                END
                $$
                """)
        }
        while try await world.connection.number("SELECT count(*) FROM grants") < 5 {
            try await Task.sleep(for: .milliseconds(1))
        }
        var tries = 0
        var isRemoved = false
        while !isRemoved {
            tries += 1
            do {
                try await world.stores.grants.delete(id, by: AdminWorld.change)
                isRemoved = true
            } catch GatewayError.slowDown {
            } catch GatewayError.unavailable {
            } catch {
                Issue.record("\(error) after \(tries) tries")
                break
            }
        }
        try await replacing.value
    }
}
