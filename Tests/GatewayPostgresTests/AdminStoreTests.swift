import Foundation
import GatewayCore
import LibPQ
import PostgresTesting
import Testing

@testable import GatewayPostgres

/// The behaviour that all stores of rows share: a row is read back as it was written, and each change is in the audit
/// and the log.
@Suite struct AdminStoreTests {
    /// Creates a row, reads it in both ways, deletes it, and checks the audit and the log.
    private func lifeOf<Row: Equatable & Sendable>(
        _ row: Row, in store: PostgresAdminStore<Row>, id: String, scope: String, kind: ResourceKind,
        createdAt: WritableKeyPath<Row, Date>, world: AdminWorld
    ) async throws {
        let before = try await world.audit().count
        let stored = try await store.create(row, by: AdminWorld.change)
        let created = stored.row
        var expected = row
        expected[keyPath: createdAt] = created[keyPath: createdAt]
        #expect(created == expected)
        #expect(abs(created[keyPath: createdAt].timeIntervalSinceNow) < 60)
        #expect(try await world.lastScopes() == [scope])
        #expect(try await store.get(id) == stored)
        #expect(try await store.list(ListQuery()).items.contains(created))
        await #expect(throws: GatewayError.alreadyExists(kind)) {
            try await store.create(row, by: AdminWorld.change)
        }

        let position = try await world.connection.position()
        try await store.delete(id, by: AdminWorld.change)
        #expect(try await world.connection.position().sequence == position.sequence + 1)
        #expect(try await world.lastScopes() == [scope])
        await #expect(throws: GatewayError.notFound(kind)) { try await store.get(id) }
        await #expect(throws: GatewayError.notFound(kind)) { try await store.delete(id, by: AdminWorld.change) }
        #expect(try await !store.list(ListQuery()).items.contains(created))

        let lines = try await world.audit().dropFirst(before)
        #expect(lines.count == 2)
        #expect(lines.first?.hasPrefix("create \(kind.rawValue) \(id) user:root request-7 before after {") == true)
        #expect(lines.last?.hasPrefix("delete \(kind.rawValue) \(id) user:root request-7 before {") == true)
        #expect(lines.last?.hasSuffix("} after") == true)
        for line in lines {
            for secret in ["TopSecret", "session-token", "shared secret", "abababab", "sealed", "hash"] {
                #expect(!line.contains(secret))
            }
        }
    }

    @Test(.database(.migrated)) func everyKindComesBackAndIsToldOf() async throws {
        let world = try AdminWorld()
        try await world.makeBucket()
        let credential = StorageCredential.sample(name: "other", token: "session-token")
        let credentialID = credential.id.uuidString.lowercased()
        try await lifeOf(
            credential, in: world.stores.credentials, id: credentialID, scope: "credential:" + credentialID,
            kind: .storageCredential, createdAt: \.createdAt, world: world)
        let kept = try await world.stores.credentials.create(.sample(name: "kept"), by: AdminWorld.change)
        try await lifeOf(
            .sample("photos", credential: kept.id), in: world.stores.buckets, id: "photos", scope: "bucket:photos",
            kind: .bucket, createdAt: \.createdAt, world: world)
        let grant = try Grant.sample()
        try await lifeOf(
            grant, in: world.stores.grants, id: grant.id.uuidString.lowercased(), scope: "user:alice", kind: .grant,
            createdAt: \.createdAt, world: world)
        let key = try APIKey.sample()
        try await lifeOf(
            key, in: world.stores.apiKeys, id: key.id.uuidString.lowercased(), scope: "apikey:abcdefghij01",
            kind: .apiKey, createdAt: \.createdAt, world: world)
        let member = GroupMember(
            group: try Principal("group:staff"), member: try Principal("user:zoë"), createdAt: Date())
        try await lifeOf(
            member, in: world.stores.members, id: member.identifier, scope: "user:zoë", kind: .groupMember,
            createdAt: \.createdAt, world: world)
        var quota = Quota.sample(limit: 5, principal: try Principal("group:staff"), metric: .bytes, sharing: .shared)
        quota.bucket = try BucketName("demo")
        try await lifeOf(
            quota, in: world.stores.quotas, id: quota.id.uuidString.lowercased(), scope: "group:staff", kind: .quota,
            createdAt: \.createdAt, world: world)
        for keys in [
            Issuer.Keys.secret(Secret("a shared secret of 32 bytes, really")), .url("https://login.example/keys"),
            .inline(#"{"keys":[]}"#),
        ] {
            let issuer = Issuer.sample(keys: keys)
            try await lifeOf(
                issuer, in: world.stores.issuers, id: issuer.id.uuidString.lowercased(),
                scope: "issuer:https://login.example", kind: .issuer, createdAt: \.createdAt, world: world)
        }
        // The audit has keys that are no secret as the API reads them.
        #expect(try await world.audit().last?.contains(#""keys": {"inline": {"keys": []}}"#) == true)
    }
}
