import Foundation
public import GatewayCore
import LibCrypto
import LibPQ
import Logging

/// Rows of one kind in PostgreSQL, as admins manage them.
///
/// Each change is one transaction: the row, its audit row and, last, the line in the log of policy changes.
public struct PostgresAdminStore<Resource: Sendable>: AdminStore {
    private let table: AdminTable<Resource>
    private let pool: PostgresPool
    private let logger: Logger
    private let now: @Sendable () -> Date

    init(_ table: AdminTable<Resource>, pool: PostgresPool, logger: Logger, now: @escaping @Sendable () -> Date) {
        self.table = table
        self.pool = pool
        self.logger = logger
        self.now = now
    }

    /// Adds a row.
    public func create(_ resource: Resource, by change: ChangeContext) async throws(GatewayError) -> Resource {
        let entry = try auditEntry(.create, table.identifier(resource), change)
        return try await perform(change) { transaction in
            guard let createdAt = try table.insert(resource, transaction).first else {
                throw PostgresError.decoding(column: 0, reason: "an insertion returned no row")
            }
            if table.isLoggedWhenCreated {
                let scope = try table.lock(entry.resourceID, in: transaction)
                try transaction.perform(table.audit, entry)
                try append(entry, scope: scope, in: transaction)
            }
            var created = resource
            created[keyPath: table.createdAt] = createdAt
            return created
        }
    }

    /// Reads a row by its identifier.
    public func get(_ id: String) async throws(GatewayError) -> Resource {
        guard table.isIdentifier(id) else { throw .notFound(table.kind) }
        let rows: [Resource]
        do throws(PostgresError) {
            rows = try await pool.execute(table.read, id)
        } catch {
            throw translate(error, requestID: nil)
        }
        guard let resource = rows.first else { throw .notFound(table.kind) }
        return resource
    }

    /// Reads a page of rows, in a stable order.
    public func list(_ query: ListQuery) async throws(GatewayError) -> Page<Resource> {
        let limit = min(max(query.pageSize, 1), Self.maxPageSize)
        let request = PageRequest(
            filters: try table.filterValues(query.filters), after: try table.cursor(query.pageToken),
            // One more tells whether there is a next page.
            limit: Int64(limit) + 1)
        var rows: [Resource]
        do throws(PostgresError) {
            rows = try await pool.execute(table.page, request)
        } catch {
            throw translate(error, requestID: nil)
        }
        guard rows.count > limit else { return Page(items: rows, nextPageToken: nil) }
        rows.removeLast()
        return Page(items: rows, nextPageToken: rows.last.map { table.pageToken(after: $0) })
    }

    /// Removes a row.
    public func delete(_ id: String, by change: ChangeContext) async throws(GatewayError) {
        guard table.isIdentifier(id) else { throw .notFound(table.kind) }
        let entry = try auditEntry(.delete, id, change)
        try await perform(change) { transaction in
            let scope = try table.lock(id, in: transaction)
            try transaction.perform(table.audit, entry)
            try table.delete(Removal(id: id, actor: change.actor.rawValue), transaction)
            try append(entry, scope: scope, in: transaction)
        }
    }

    private static var maxPageSize: Int { 1000 }
}

extension PostgresAdminStore {
    private func auditEntry(
        _ operation: AuditEntry.Operation, _ resourceID: String, _ change: ChangeContext
    ) throws(GatewayError) -> AuditEntry {
        do throws(CryptoError) {
            return AuditEntry(
                id: .version7(at: now(), randomBytes: try randomBytes(count: 10)), operation: operation,
                resourceID: resourceID, actor: change.actor.rawValue, requestID: change.requestID)
        } catch {
            throw .unavailable(retryAfter: 1)
        }
    }

    private func append(
        _ entry: AuditEntry, scope: String, in transaction: borrowing PostgresTransaction
    ) throws(PostgresError) {
        let stamped = table.kind == .grant ? UUID(uuidString: entry.resourceID).map { [$0] } ?? [] : []
        try transaction.perform(
            AdminStatements.appendPolicyLog,
            PolicyChange(
                scopes: [scope], actor: entry.actor, requestID: entry.requestID,
                created: entry.operation == .create ? stamped : [],
                removed: entry.operation == .delete ? stamped : []))
    }

    private func perform<Result: Sendable>(
        _ change: ChangeContext, _ body: @Sendable (borrowing PostgresTransaction) throws -> Result
    ) async throws(GatewayError) -> Result {
        do {
            return try await pool.withTransaction { transaction in
                try transaction.runScript("SET LOCAL lock_timeout = '2s'")
                return try body(transaction)
            }
        } catch let error as GatewayError {
            throw error
        } catch let error as PostgresError {
            throw translate(error, requestID: change.requestID)
        } catch {
            logger.error("a change failed", metadata: ["request.id": "\(change.requestID)", "reason": "\(error)"])
            throw .unavailable(retryAfter: 1)
        }
    }

    private func translate(_ error: PostgresError, requestID: String?) -> GatewayError {
        switch error.sqlState {
        case "23505": return .alreadyExists(table.kind)
        case "23503": return .conflict(reason: table.referenceConflict)
        default: break
        }
        logger.warning(
            "rows cannot be read or changed",
            metadata: [
                "kind": "\(table.kind.rawValue)", "request.id": requestID.map { "\($0)" } ?? "", "reason": "\(error)",
            ])
        if error.refusesData { return .conflict(reason: "The database refuses such a row.") }
        // Another change is under way: as long as it lasts, nothing but waiting helps.
        return error.sqlState == "55P03" ? .unavailable(retryAfter: 1) : error.asGatewayError
    }
}
