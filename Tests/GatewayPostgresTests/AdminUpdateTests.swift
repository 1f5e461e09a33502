import Foundation
import GatewayCore
import LibPQ
import PostgresTesting
import Testing

@testable import GatewayPostgres
import LibCrypto

/// Rows that replace others.
@Suite struct AdminUpdateTests {
    /// Changes a row twice from the same state, and checks the audit and the log.
    private func change<Row: Equatable & Sendable>(
        _ store: PostgresAdminStore<Row>, _ id: String, scopes: [String], world: AdminWorld, _ edit: (inout Row) -> Void
    ) async throws {
        let stored = try await store.get(id)
        var row = stored.row
        edit(&row)
        #expect(row != stored.row)
        let position = try await world.connection.position()
        let changed = try await store.update(row, from: stored.revision, by: AdminWorld.change)
        #expect(changed.row == row)
        #expect(changed.revision != stored.revision)
        #expect(try await store.get(id) == changed)
        #expect(try await world.connection.position().sequence == position.sequence + 1)
        #expect(try await world.lastScopes() == scopes)
        let line = try #require(await world.audit().last)
        #expect(line.hasPrefix("update "))
        #expect(line.contains(" user:root request-7 before {"))
        for secret in ["TopSecret", "session-token", "shared secret", "abababab", "cdcdcdcd", "sealed", "hash"] {
            #expect(!line.contains(secret))
        }

        let lines = try await world.audit().count
        await #expect(throws: GatewayError.preconditionFailed) {
            try await store.update(stored.row, from: stored.revision, by: AdminWorld.change)
        }
        await #expect(throws: GatewayError.preconditionFailed) {
            try await store.delete(id, revision: stored.revision, by: AdminWorld.change)
        }
        #expect(try await store.get(id) == changed)
        #expect(try await world.audit().count == lines)
        #expect(try await world.connection.position().sequence == position.sequence + 1)
        try await store.delete(id, revision: changed.revision, by: AdminWorld.change)
        await #expect(throws: GatewayError.self) {
            try await store.update(row, from: changed.revision, by: AdminWorld.change)
        }
    }

    @Test(.database(.migrated)) func everyKindChangesOnceFromOneState() async throws {
        let world = try AdminWorld()
        let stores = world.stores
        try await world.makeBucket()
        let credential = try await stores.credentials.create(.sample(name: "other"), by: AdminWorld.change).row
        try await change(
            stores.credentials, credential.id.uuidString.lowercased(),
            scopes: ["credential:" + credential.id.uuidString.lowercased()], world: world
        ) {
            $0.name = "third"
            $0.secretAccessKey = Secret("TopSecretKeyTheSecond")
            $0.sessionToken = Secret("session-token")
            $0.expiresAt = Date(timeIntervalSince1970: 2_100_000_000)
        }
        let kept = try await stores.credentials.create(.sample(name: "kept"), by: AdminWorld.change).row
        _ = try await stores.buckets.create(.sample("photos", credential: kept.id), by: AdminWorld.change)
        try await change(stores.buckets, "photos", scopes: ["bucket:photos"], world: world) {
            $0.endpoint = "https://other.example"
            $0.provider = .aws
            $0.region = "r"
            $0.addressing = .virtual
            $0.defaultTTL = 7
            $0.maxTTL = 77
            $0.allowsUnenforcedSize = false
        }
        let key = try await stores.apiKeys.create(.sample(), by: AdminWorld.change).row
        let group = try Principal("group:x")
        try await change(
            stores.apiKeys, key.id.uuidString.lowercased(), scopes: ["apikey:abcdefghij01", "apikey:abcdefghij02"],
            world: world
        ) {
            $0.prefix = "abcdefghij02"
            $0.hash = DigestAlgorithm.sha256.digest(of: "0xcd")
            $0.name = "other"
            $0.groups = [group]
            $0.roles = [.admin]
            $0.expiresAt = nil
        }
        let quota = try await stores.quotas.create(.sample(limit: 5), by: AdminWorld.change).row
        try await change(stores.quotas, quota.id.uuidString.lowercased(), scopes: ["*"], world: world) { $0.limit = 0 }
        let issuer = try await stores.issuers.create(.sample(), by: AdminWorld.change).row
        try await change(
            stores.issuers, issuer.id.uuidString.lowercased(),
            scopes: ["issuer:https://login.example", "issuer:https://x"],
            world: world
        ) {
            $0.issuer = "https://x"
            $0.keys = .url("https://x/keys")
            $0.algorithms = ["ES256"]
            $0.audiences = ["b"]
            $0.principalPrefix = "b|"
            $0.groupPrefix = "b|"
            $0.subjectClaim = "email"
            $0.groupsClaim = nil
            $0.usableClaims = []
            $0.rolesClaim = nil
            $0.console = ConsoleSignIn(clientID: "another", send: .accessToken)
            $0.roles = []
        }
        let grant = try await stores.grants.create(.sample(), by: AdminWorld.change).row
        let (bob, prefix) = (try Principal("user:bob"), try KeyPrefix(literal: "other/"))
        try await change(
            stores.grants, grant.id.uuidString.lowercased(), scopes: ["user:alice", "user:bob"], world: world
        ) {
            $0.principal = bob
            $0.prefix = prefix
            $0.actions = [.getObject]
            $0.conditions = GrantConditions()
            $0.notBefore = nil
            $0.notAfter = nil
            $0.note = "new"
        }
    }

    /// The secrets that the last line of the audit says were changed; empty if it names none.
    private func changedSecrets(_ world: AdminWorld) async throws -> [String] {
        let lines = try await world.connection.execute(
            Statement<Void, [String]>(
                """
                SELECT ARRAY(SELECT jsonb_array_elements_text(a.after -> 'changedSecrets'))
                FROM admin_audit a ORDER BY a.at DESC LIMIT 1
                """
            ) { row throws(PostgresError) in try row.decode(0) })
        return try #require(lines.first)
    }

    @Test(.database(.migrated)) func `the audit names the secrets that a change replaced`() async throws {
        let world = try AdminWorld()
        let credential = try await world.stores.credentials.create(.sample(), by: AdminWorld.change).row
        let id = credential.id.uuidString.lowercased()
        func change(_ edit: (inout StorageCredential) -> Void) async throws -> [String] {
            let stored = try await world.stores.credentials.get(id)
            var row = stored.row
            edit(&row)
            _ = try await world.stores.credentials.update(row, from: stored.revision, by: AdminWorld.change)
            return try await changedSecrets(world)
        }
        #expect(try await changedSecrets(world).isEmpty, "a new row has no secret that was replaced")
        #expect(try await change { $0.name = "other" } == [])
        #expect(try await change { $0.secretAccessKey = Secret("TopSecretKeyTheSecond") } == ["secretAccessKey"])
        #expect(try await change { $0.secretAccessKey = Secret("TopSecretKeyTheSecond") } == [], "entered again")
        #expect(
            try await change {
                ($0.accessKeyID, $0.secretAccessKey) = ("AKIAOTHER", Secret("TopSecretKeyTheThird"))
                $0.sessionToken = Secret("session-token")
            } == ["secretAccessKey", "sessionToken"])
        #expect(try await change { $0.sessionToken = nil } == ["sessionToken"])
        let line = try #require(await world.audit().last)
        #expect(line.hasPrefix("update StorageCredential \(id) user:root request-7 before "))
        #expect(!line.contains("TopSecret") && !line.contains("session-token"))

        let issuer = try await world.stores.issuers.create(.sample(), by: AdminWorld.change)
        var row = issuer.row
        row.keys = .secret(Secret("another shared secret of 32 bytes, really"))
        let changed = try await world.stores.issuers.update(row, from: issuer.revision, by: AdminWorld.change)
        #expect(try await changedSecrets(world) == ["keys.secret"])
        row.audiences = ["b"]
        let kept = try await world.stores.issuers.update(row, from: changed.revision, by: AdminWorld.change)
        #expect(try await changedSecrets(world) == [])
        row.keys = .url("https://login.example/keys")
        _ = try await world.stores.issuers.update(row, from: kept.revision, by: AdminWorld.change)
        #expect(try await changedSecrets(world) == [], "the document says that the keys have an address")
    }

    @Test(.database(.migrated)) func aChangedGrantKeepsItsHistory() async throws {
        let world = try AdminWorld()
        try await world.makeBucket()
        let first = try await world.stores.grants.create(.sample(), by: AdminWorld.change)
        var row = first.row
        row.note = "second"
        let second = try await world.stores.grants.update(row, from: first.revision, by: AdminWorld.change)
        row.note = "third"
        let third = try await world.stores.grants.update(row, from: second.revision, by: AdminWorld.change)
        #expect(third.createdAt == first.createdAt && third.id == first.id)
        try await world.stores.grants.delete(first.id.uuidString.lowercased(), by: AdminWorld.change)
        // Each version begins with the change that ended the previous one, and no two are in force at once.
        let versions = try await world.connection.execute(
            Statement<Void, String>(
                """
                SELECT format('%s %s..%s %s', h.note, h.created_seq - m.first, h.removed_seq - m.first, h.created_change)
                FROM grant_history h, (SELECT min(created_seq) AS first FROM grant_history) m ORDER BY h.created_seq
                """
            ) { row throws(PostgresError) in try row.decode(0) })
        #expect(
            versions == [
                "\(first.note) 0..1 \(first.revision.uuidString.lowercased())",
                "second 1..2 \(second.revision.uuidString.lowercased())",
                "third 2..3 \(third.revision.uuidString.lowercased())",
            ])
    }

    @Test(.database(.migrated)) func ofTwoAdminsWhoChangeOneRowAtOnceOneIsToldSo() async throws {
        let world = try AdminWorld()
        let bucket = try await world.makeBucket()
        for round in 0..<10 {
            let grant = try await world.stores.grants.create(.sample("user:\(round)"), by: AdminWorld.change)
            let credential = try await world.stores.credentials.get(bucket.credentialID.uuidString.lowercased())
            let outcomes = await withTaskGroup(of: String.self) { group in
                for index in 0..<4 {
                    group.addTask {
                        var row = grant.row
                        row.note = "by \(index)"
                        do throws(GatewayError) {
                            return try await world.stores.grants.update(
                                row, from: grant.revision, by: AdminWorld.change
                            )
                            .note
                        } catch {
                            return error.code
                        }
                    }
                    group.addTask {
                        var row = credential.row
                        row.name = "by \(round) \(index)"
                        do throws(GatewayError) {
                            return try await world.stores.credentials.update(
                                row, from: credential.revision, by: AdminWorld.change
                            ).name
                        } catch {
                            return error.code
                        }
                    }
                }
                return await group.reduce(into: [String]()) { $0.append($1) }
            }
            #expect(outcomes.count { $0 == "PreconditionFailed" } == 6, "\(outcomes)")
            let note = try await world.stores.grants.get(grant.id.uuidString.lowercased()).note
            let name = try await world.stores.credentials.get(bucket.credentialID.uuidString.lowercased()).name
            #expect(outcomes.contains(note) && outcomes.contains(name))
            let id = grant.id.uuidString.lowercased()
            #expect(try await world.connection.number("SELECT count(*) FROM grants WHERE id = '\(id)'") == 2)
            #expect(
                try await world.connection.number(
                    "SELECT count(*) FROM grants WHERE id = '\(id)' AND removed_at IS NULL") == 1)
        }
        #expect(try await world.audit().count { $0.hasPrefix("update ") } == 20)
    }

    @Test(.database(.migrated)) func aNewKeyOfACredentialTellsHowLongTheOldOneIsNeeded() async throws {
        let world = try AdminWorld()
        let bucket = try await world.makeBucket()
        let id = bucket.credentialID.uuidString.lowercased()
        var stored = try await world.stores.credentials.get(id)
        #expect(stored.previousKey == nil)
        var row = stored.row
        row.name = "renamed"
        stored = try await world.stores.credentials.update(row, from: stored.revision, by: AdminWorld.change)
        #expect(stored.previousKey == nil)
        row.accessKeyID = "SECOND"
        row.secretAccessKey = Secret("TopSecretKeyTheSecond")
        stored = try await world.stores.credentials.update(row, from: stored.revision, by: AdminWorld.change)
        #expect(stored.secretAccessKey == row.secretAccessKey)
        let previous = try #require(stored.previousKey)
        #expect(previous.accessKeyID == "AKIAEXAMPLE")
        // The bucket may have permitted longer links before, or another bucket.
        #expect(bucket.maxTTL == 3600)
        #expect(abs(previous.neededUntil.timeIntervalSinceNow - LedgerRange.longestLife) < 60)
        let load = try await world.source.load([.credential(bucket.credentialID)], literalGrantLimit: 1)
        guard case .credential(let loaded) = load.rows.first else { return }
        #expect(loaded?.accessKeyID == "SECOND" && loaded?.secretAccessKey == row.secretAccessKey)
    }

    @Test(.database(.migrated)) func aChangeContradictsOtherRowsAsACreationDoes() async throws {
        let world = try AdminWorld()
        let stores = world.stores
        let bucket = try await world.makeBucket()
        let stored = try await stores.buckets.get("demo")
        var moved = bucket
        moved.credentialID = UUID()
        await #expect(throws: GatewayError.self) {
            try await stores.buckets.update(moved, from: stored.revision, by: AdminWorld.change)
        }
        #expect(try await stores.buckets.get("demo") == stored)
        let one = try await stores.issuers.create(.sample("https://one", prefix: "a|"), by: AdminWorld.change)
        _ = try await stores.issuers.create(.sample("https://two", prefix: "b|"), by: AdminWorld.change)
        var issuer = one.row
        issuer.principalPrefix = "b|x"
        await #expect(throws: GatewayError.self) {
            try await stores.issuers.update(issuer, from: one.revision, by: AdminWorld.change)
        }
        issuer.principalPrefix = "a|x"
        let changed = try await stores.issuers.update(issuer, from: one.revision, by: AdminWorld.change)
        #expect(changed.principalPrefix == "a|x")
        let grant = try await stores.grants.create(.sample(), by: AdminWorld.change)
        var elsewhere = grant.row
        elsewhere.bucket = try BucketName("absent")
        await #expect(throws: GatewayError.self) {
            try await stores.grants.update(elsewhere, from: grant.revision, by: AdminWorld.change)
        }
        #expect(try await stores.grants.get(grant.id.uuidString.lowercased()) == grant)
    }
}
