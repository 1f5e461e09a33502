import Foundation
import GatewayCore
import LibPQ
import PostgresTesting
import Synchronization

@testable import GatewayPostgres

extension AdminWorld {
    /// Bulk changes over the same database, logged in as the gateway.
    func bulk(limit: Int = 4, settings: [(name: String, value: String)] = []) throws -> GrantBatches {
        let settings = BulkConnections.sessionSettings + [("role", "sluice_gateway")] + settings
        let configuration = try TestDatabase.current.configuration(sessionSettings: settings)
        return GrantBatches(
            store: PostgresGrantBulk(
                connections: BulkConnections(configuration, limit: limit, logger: .silent), logger: .silent))
    }

    /// Applies a batch.
    @discardableResult
    func apply(
        _ writes: [(id: UUID?, grant: Grant)], deletes: [UUID] = [], isDryRun: Bool = false
    ) async throws -> GrantBatchResult {
        let writes = writes.enumerated().map { ProposedGrant(place: $0, id: $1.id, grant: $1.grant) }
        return try await bulk().apply(
            GrantBatch(writes: writes, removals: deletes.map { GrantRemoval(id: $0) }, isDryRun: isDryRun),
            by: Self.change)
    }

    /// Imports grants, a few lines at a time.
    @discardableResult
    func importing(
        _ lines: [(id: UUID?, grant: Grant)], prunes: Bool = false, isDryRun: Bool = false,
        scope: GrantImportOptions.Scope = .init(), in size: Int = 3
    ) async throws -> GrantImportResult {
        let rest = Mutex(lines.enumerated().map { ProposedGrant(place: $0 + 1, id: $1.id, grant: $1.grant) }[...])
        return try await bulk().importGrants(
            GrantImportOptions(scope: scope, prunes: prunes, isDryRun: isDryRun), by: Self.change,
            renewing: { Self.change }
        ) {
            rest.withLock { rest in
                defer { rest = rest.dropFirst(size) }
                return rest.isEmpty ? nil : Array(rest.prefix(size))
            }
        }
    }

    /// All live grants, read as an export.
    func exported(_ filters: [String: String] = [:]) async throws -> [Grant] {
        let reader = try await bulk().export(filters, within: .unlimited)
        var grants: [Grant] = []
        while case let page = try await reader.next(), !page.isEmpty { grants += page }
        return grants
    }

    /// Number of entries in the log of policy changes.
    func logLength() async throws -> Int64 {
        try await connection.number("SELECT max(seq) FROM policy_log")
    }
}

extension Grant {
    /// A plain grant with a note that tells it from others.
    static func plain(
        _ principal: String = "user:alice", _ prefix: String = "team/", bucket: String = "demo", note: String = "",
        actions: Set<Action> = [.getObject]
    ) throws -> Grant {
        Grant(
            id: UUID(), principal: try Principal(principal), bucket: try BucketName(bucket),
            prefix: try prefix.contains("${") ? KeyPrefix(template: prefix) : KeyPrefix(literal: prefix),
            actions: actions, effect: .allow, note: note, createdBy: "nobody",
            createdAt: Date(timeIntervalSince1970: 0))
    }

    /// The part of the grant that an admin sets.
    var content: Grant {
        var grant = self
        grant.id = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
        grant.createdBy = ""
        grant.createdAt = .distantPast
        return grant
    }
}
