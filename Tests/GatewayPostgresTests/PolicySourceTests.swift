import Foundation
import GatewayCore
import LibPQ
import PostgresTesting
import Testing

@testable import GatewayPostgres

extension PolicyRows {
    fileprivate var asPrincipal: PrincipalRows? { if case .principal(let rows) = self { rows } else { nil } }
    fileprivate var asBucket: Bucket?? { if case .bucket(let row) = self { .some(row) } else { nil } }
    fileprivate var asCredential: StorageCredential?? {
        if case .credential(let row) = self { .some(row) } else { nil }
    }
    fileprivate var asIssuer: Issuer?? { if case .issuer(let row) = self { .some(row) } else { nil } }
    fileprivate var asAPIKey: APIKey?? { if case .apiKey(let row) = self { .some(row) } else { nil } }
}

/// Policy as gateways read it.
@Suite struct PolicySourceTests {
    @Test(.database(.migrated)) func answersInTheOrderAskedAlsoWhereNothingIs() async throws {
        let world = try AdminWorld()
        let bucket = try await world.makeBucket()
        let credential = try await world.stores.credentials.get(bucket.credentialID.uuidString.lowercased())
        let issuer = try await world.stores.issuers.create(.sample(), by: AdminWorld.change)
        let key = try await world.stores.apiKeys.create(.sample(), by: AdminWorld.change)
        let grant = try await world.stores.grants.create(.sample(), by: AdminWorld.change)
        let template = try await world.stores.grants.create(
            .sample("user:alice", "users/${sub}/", template: true), by: AdminWorld.change)
        let removed = try await world.stores.grants.create(.sample(), by: AdminWorld.change)
        try await world.stores.grants.delete(removed.id.uuidString.lowercased(), by: AdminWorld.change)
        let alice = try Principal("user:alice")
        let staff = try Principal("group:staff")
        _ = try await world.stores.members.create(
            GroupMember(group: staff, member: alice, createdAt: Date()), by: AdminWorld.change)
        var quota = Quota.sample(limit: 7, principal: alice)
        quota = try await world.stores.quotas.create(quota, by: AdminWorld.change)

        let keys: [PolicyKey] = [
            .bucket(try BucketName("absent")), .principal(try Principal("user:nobody")), .credential(UUID()),
            .principal(alice), .apiKey(prefix: "absent000000"), .issuer(ExactText("https://absent.example")),
            .bucket(bucket.name), .credential(credential.id), .issuer(ExactText(issuer.issuer)),
            .apiKey(prefix: key.prefix), .principal(alice), .principal(.anyone),
        ]
        let load = try await world.source.load(keys, literalGrantLimit: 10)
        #expect(try await load.position == world.connection.position())
        try #require(load.rows.count == keys.count)
        #expect(load.rows[0].asBucket == .some(nil))
        #expect(load.rows[2].asCredential == .some(nil))
        #expect(load.rows[4].asAPIKey == .some(nil))
        #expect(load.rows[5].asIssuer == .some(nil))
        #expect(load.rows[6].asBucket == .some(bucket))
        #expect(load.rows[7].asCredential == .some(credential))
        #expect(load.rows[8].asIssuer == .some(issuer))
        #expect(load.rows[9].asAPIKey == .some(key))
        for index in [3, 10] {
            let rows = try #require(load.rows[index].asPrincipal)
            #expect(rows.groups == [staff])
            #expect(Set(rows.grants.map(\.id)) == [grant.id, template.id])
            #expect(rows.grants.contains(grant) && rows.grants.contains(template))
            #expect(rows.quotas == [quota])
            #expect(rows.isComplete)
        }
        for index in [1, 11] {
            let rows = try #require(load.rows[index].asPrincipal)
            #expect(rows.groups.isEmpty && rows.grants.isEmpty && rows.quotas.isEmpty && rows.isComplete)
        }
        #expect(try await world.source.load([], literalGrantLimit: 1).position == load.position)
    }
}
