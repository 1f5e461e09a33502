import Foundation
import GatewayCore
import LibPQ
import PostgresTesting
import Testing

@testable import GatewayPostgres

/// Changes whose credential may have been changed since it was checked: each way to change something, and each thing
/// that may have happened meanwhile.
@Suite struct CredentialProofTests {
    /// A way to change something.
    enum Act: String, CaseIterable {
        case create, update, delete, createTicket, revokeTickets, offboard, abortUpload, apply, importLines, resetQuota,
            rotateSecret, removeSecret
    }

    /// What happened since the credential was checked.
    enum Meanwhile: String, CaseIterable {
        case nothing, anotherKey, manyGrants, thisKey, thisKeyAndMore, manyRowsAndThisKey, everything, anotherLog,
            anotherHistory

        /// Whether the credential may not stand any more, as the document on administration reads.
        var endsCredential: Bool {
            switch self {
            case .nothing, .anotherKey, .manyGrants: false
            case .thisKey, .thisKeyAndMore, .manyRowsAndThisKey, .everything, .anotherLog, .anotherHistory: true
            }
        }
    }

    @Test(.database(.migrated), arguments: Act.allCases, Meanwhile.allCases)
    func `nothing is changed by a credential that may not stand any more`(act: Act, meanwhile: Meanwhile) async throws {
        let world = try AdminWorld()
        let bucket = try await world.makeBucket()
        let grant = try await world.stores.grants.create(.plain(note: "first"), by: AdminWorld.change)
        _ = try await world.stores.tickets.create(.sample(), by: AdminWorld.change)
        _ = try await Self.events().rotate(Self.secret(of: bucket), overlap: 0, by: AdminWorld.change)
        let quota = Quota.sample(limit: 10)
        try await world.connection.insert(quota)
        let upload = UUID()
        try await world.connection.runScript(
            """
            INSERT INTO multipart_uploads (id, principal, bucket, object_key, content_type, state, expires_at, check_at)
            VALUES ('\(upload)', 'user:alice', 'demo', 'k', 'text/plain', 'open', now() + interval '1 day', now());
            INSERT INTO quota_usage (quota_id, holder, period_start, shared, used)
            VALUES ('\(quota.id)', 'user:alice', quota_period_start('day', now()), false, 5)
            """)
        var position = try await world.connection.position()
        switch meanwhile {
        case .nothing: break
        case .anotherKey: try await world.connection.append(scopes: ["apikey:other", "user:alice"])
        case .manyGrants: try await world.connection.append(scopes: (0...1000).map { "user:\($0)" })
        case .manyRowsAndThisKey:
            try await world.connection.append(scopes: ["apikey:mine"] + (0...1000).map { "user:\($0)" })
        case .thisKey: try await world.connection.append(scopes: ["apikey:mine"])
        case .thisKeyAndMore:
            try await world.connection.append(scopes: ["user:alice", "apikey:mine"])
            try await world.connection.append(scopes: ["bucket:demo"])
        case .everything: try await world.connection.append(scopes: ["all"])
        case .anotherLog: position = PolicyPosition(sequence: position.sequence, tag: UUID())
        case .anotherHistory:
            // The log of the server that took over has the position too.
            let history = DatabaseHistory()
            position = PolicyPosition(sequence: position.sequence, tag: position.tag, in: history)
            history.end()
        }
        var change = AdminWorld.change
        change.proof = CredentialProof(position: position, scopes: [PolicyScope(rawValue: "apikey:mine")])
        let before = try await Self.state(of: world)
        if meanwhile.endsCredential {
            let error = await #expect(throws: GatewayError.self) {
                try await Self.perform(act, on: grant, quota, upload, in: bucket, world, by: change)
            }
            #expect(error?.code == "SlowDown")
        } else {
            try await Self.perform(act, on: grant, quota, upload, in: bucket, world, by: change)
        }
        let isUnchanged = try await Self.state(of: world) == before
        #expect(isUnchanged == meanwhile.endsCredential)
    }

    /// Everything that the acts change, with the audit.
    private static func state(of world: AdminWorld) async throws -> [String] {
        try await world.connection.texts(
            """
            SELECT t::text FROM grants t UNION ALL SELECT t::text FROM tickets t UNION ALL SELECT t::text FROM admin_audit t
            UNION ALL SELECT t::text FROM quota_usage t UNION ALL SELECT t::text FROM ticket_revocations t
            UNION ALL SELECT t::text FROM event_secrets t UNION ALL SELECT t::text FROM policy_log t
            UNION ALL SELECT t::text FROM multipart_uploads t ORDER BY 1
            """)
    }

    private static func perform(
        _ act: Act, on grant: Stored<Grant>, _ quota: Quota, _ upload: UUID,
        in bucket: Bucket, _ world: AdminWorld,
        by change: ChangeContext
    ) async throws {
        let user = grant.row.principal
        switch act {
        case .create: _ = try await world.stores.grants.create(.plain("user:bob"), by: change)
        case .update:
            var row = grant.row
            row.note = "second"
            _ = try await world.stores.grants.update(row, from: grant.revision, by: change)
        case .delete: try await world.stores.grants.delete(grant.row.id.lowercaseText, revision: nil, by: change)
        case .createTicket: _ = try await world.stores.tickets.create(.sample(), by: change)
        case .revokeTickets: #expect(try await world.stores.tickets.revokeTickets(of: user, by: change) == 1)
        case .offboard:
            let tag = try await world.stores.offboarding.rows(of: user).tag
            _ = try await world.stores.offboarding.remove(allOf: user, seenAs: tag, by: change)
        case .abortUpload:
            let rows = PostgresMultipartUploads(pool: try pool(), logger: .silent, now: { Date() })
            #expect(try await rows.abort(upload, from: .open, to: .aborting, by: change))
        case .apply:
            let writes = [ProposedGrant(place: 0, id: nil, grant: try .plain("user:bob"))]
            _ = try await world.bulk().apply(GrantBatch(writes: writes, removals: [], isDryRun: false), by: change)
        case .importLines:
            let (lines, line) = AsyncStream<[ProposedGrant]>.makeStream()
            line.yield([ProposedGrant(place: 1, id: nil, grant: try .plain("user:bob"))])
            line.finish()
            _ = try await world.bulk().importGrants(
                GrantImportOptions(scope: .init(), prunes: false, isDryRun: false), by: change, renewing: { change }
            ) {
                await lines.first { _ in true }
            }
        case .resetQuota: _ = try await quotaCounters().reset(quota.id, of: .all, by: change)
        case .rotateSecret: _ = try await events().rotate(secret(of: bucket), overlap: 0, by: change)
        case .removeSecret: #expect(try await events().removeSecret(of: bucket.name, by: change))
        }
    }

    private static func secret(of bucket: Bucket) -> EventSecret {
        EventSecret(
            bucket: bucket.name, name: "name-\(Int.random(in: 0..<1 << 40))", hash: [UInt8](repeating: 1, count: 32),
            createdAt: Date())
    }

    private static func pool() throws -> PostgresPool {
        let settings = PostgresAdminStores.sessionSettings + [("role", "sluice_gateway")]
        return PostgresPool(
            try TestDatabase.current.configuration(sessionSettings: settings), size: 1, logger: .silent)
    }

    private static func events() throws -> PostgresStoreEvents {
        let pool = try pool()
        return PostgresStoreEvents(pool: pool, lookUps: pool, logger: .silent, now: { Date() })
    }

    private static func quotaCounters() throws -> PostgresQuotaCounters {
        PostgresQuotaCounters(pool: try pool(), logger: .silent, now: { Date() })
    }
}
