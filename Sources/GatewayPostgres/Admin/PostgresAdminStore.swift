import FoundationEssentials
import GatewayCore
import LibPQ
import Logging

/// Stores resources of one kind in PostgreSQL and lets admins read and change them.
///
/// Each change is one transaction. It writes the row, then its audit row and, last, a line in the log of policy
/// changes. The commit writes that line. If the gateway stops in between, PostgreSQL ends the session after one second,
/// which also releases the row locks.
struct PostgresAdminStore<Resource: ValidatedRow>: AdminStore {
    private let table: AdminTable<Resource>
    let pool: PostgresPool
    let logger: Logger
    private let now: @Sendable () -> Date

    init(_ table: AdminTable<Resource>, pool: PostgresPool, logger: Logger, now: @escaping @Sendable () -> Date) {
        self.table = table
        self.pool = pool
        self.logger = logger
        self.now = now
    }

    /// Adds a row, and returns it as stored.
    func create(
        _ validated: Validated<Resource>, by change: ChangeContext
    ) async throws(GatewayError) -> Stored<Resource> {
        let resource = validated.row
        let entry = try auditEntry(.create, table.identifier(resource), change)
        do throws(GatewayError) {
            return try await perform(change) { transaction in
                try table.insert(resource, transaction)
                guard table.isLoggedWhenCreated else {
                    let stored = try written(entry.resourceID, in: transaction)
                    try transaction.prove(change)
                    return stored
                }
                return try end(entry, of: change, scopes: [], in: transaction)
            }
        } catch {
            throw await naming(error, twinOf: resource)
        }
    }

    /// Reads a row by its identifier.
    func get(_ id: String) async throws(GatewayError) -> Stored<Resource> {
        guard table.isIdentifier(id) else { throw .notFound(table.kind) }
        let rows: [Stored<Resource>]
        do throws(PostgresError) {
            rows = try await pool.execute(table.read, id)
        } catch {
            throw translate(error, requestID: nil)
        }
        guard let stored = rows.first else { throw .notFound(table.kind) }
        return stored
    }

    /// Reads a page of rows, in a stable order.
    func list(_ query: ListQuery) async throws(GatewayError) -> Page<Resource> {
        let request = try table.listing.request(query)
        let rows: [Resource]
        do throws(PostgresError) {
            rows = try await pool.execute(try statement(for: query), request)
        } catch {
            throw translate(error, requestID: nil)
        }
        return table.listing.page(rows, of: query, position: table.position)
    }

    private func statement(for query: ListQuery) throws(PostgresError) -> Statement<PageRequest, Resource> {
        guard query.reach.isUnlimited else {
            guard let page = table.pageWithin else {
                throw .decoding(column: 0, reason: "a narrowed list without a statement")
            }
            return page(query.reach)
        }
        return table.narrowPage.flatMap { query.filters[$0.filter] == nil ? nil : $0.statement } ?? table.page
    }

    /// Replaces the row that has the resource's identifier.
    func update(
        _ validated: Validated<Resource>, from revision: UUID, by change: ChangeContext
    ) async throws(GatewayError) -> Stored<Resource> {
        let resource = validated.row
        let id = table.identifier(resource)
        guard table.isIdentifier(id) else { throw .notFound(table.kind) }
        let entry = try auditEntry(.update, id, change)
        do throws(GatewayError) {
            return try await perform(change) { transaction in
                let locked = try table.lock(id, of: revision, in: transaction)
                var entry = entry
                entry.before = try transaction.execute(table.document, id).first
                var secrets: [String] = []
                if let changed = table.changedSecrets {
                    secrets = changed(try written(id, in: transaction).row, resource)
                }
                let update = RowUpdate(
                    id: id, row: resource, changedSecrets: secrets, actor: change.actor.rawValue)
                try table.update(update, transaction)
                return try end(entry, of: change, scopes: locked.scopes, changedSecrets: secrets, in: transaction)
            }
        } catch {
            throw await naming(error, twinOf: resource)
        }
    }

    /// Adds to an error the identifier of the row that says the same, if there is one.
    private func naming(_ error: GatewayError, twinOf resource: Resource) async -> GatewayError {
        guard case .alreadyExists(let kind, nil) = error, let twin = table.twin,
            let id = try? await pool.execute(twin, resource).first
        else { return error }
        return .alreadyExists(kind, id: id)
    }

    /// Removes the row with an identifier, if it still has the given revision. `nil` accepts any revision.
    func delete(_ id: String, revision: UUID?, by change: ChangeContext) async throws(GatewayError) {
        guard table.isIdentifier(id) else { throw .notFound(table.kind) }
        let entry = try auditEntry(.delete, id, change)
        try await perform(change) { transaction in
            let locked = try table.lock(id, of: revision, in: transaction)
            var entry = entry
            if change.isAudited { entry.before = try transaction.execute(table.document, id).first }
            let removal = Removal(id: id, actor: change.actor.rawValue, revision: revision)
            try table.delete(removal, transaction)
            if change.isAudited {
                try transaction.perform(AuditTable.insert, entry)
            }
            try append(entry, of: change, scopes: locked.scopes, in: transaction)
        }
    }

    /// Removes all rows that belong to a resource.
    ///
    /// The change adds one line to the audit, whatever the number of rows, and one to the policy log if there are any.
    /// - Parameters:
    ///   - rows: Removes the rows, and returns the scope and the audit document of each.
    ///   - resourceID: The resource that the rows have in common, as the audit names it.
    ///   - change: Who makes the change.
    /// - Returns: The number of rows removed.
    func deleteAll(
        _ rows: Statement<String, RemovedRow>, of resourceID: String, by change: ChangeContext
    ) async throws(GatewayError) -> Int {
        let entry = try auditEntry(.delete, resourceID, change)
        return try await perform(change) { transaction in
            let removed = try transaction.execute(rows, resourceID)
            var entry = entry
            entry.before = #"{"items": ["# + removed.map(\.document).joined(separator: ",") + "]}"
            try transaction.perform(AuditTable.insert, entry)
            if removed.isEmpty {
                try transaction.prove(change)
            } else {
                try append(entry, of: change, scopes: removed.map(\.scope), in: transaction)
            }
            return removed.count
        }
    }
}

extension PostgresAdminStore {
    private func auditEntry(
        _ operation: AuditOperation, _ resourceID: String, _ change: ChangeContext
    ) throws(GatewayError) -> AuditEntry {
        AuditEntry(
            id: try .new(at: now()), operation: operation, kind: table.kind, resourceID: resourceID,
            actor: change.actor.rawValue, requestID: change.requestID, credential: change.credential?.rawValue)
    }

    /// Reads a row that this transaction has just locked or written.
    private func written(_ id: String, in transaction: borrowing PostgresTransaction) throws -> Stored<Resource> {
        guard let stored = try transaction.execute(table.read, id).first else {
            throw PostgresError.decoding(column: 0, reason: "a row that was locked or written is not there")
        }
        return stored
    }

    /// Ends a change that leaves a row: records its new state in the audit and the policy log, and returns the row.
    private func end(
        _ entry: AuditEntry, of change: ChangeContext, scopes: [String], changedSecrets: [String] = [],
        in transaction: borrowing PostgresTransaction
    ) throws -> Stored<Resource> {
        let id = entry.resourceID
        let present = try table.lock(id, in: transaction).scopes
        let stored = try written(id, in: transaction)
        var entry = entry
        entry.after = try transaction.execute(table.document, id).first
        if let document = entry.after, !changedSecrets.isEmpty {
            entry.after = try transaction.execute(AdminStatements.noteSecrets, (document, changedSecrets)).first
        }
        try transaction.perform(AuditTable.insert, entry)
        try append(entry, of: change, scopes: scopes + present.filter { !scopes.contains($0) }, in: transaction)
        return stored
    }

    private func append(
        _ entry: AuditEntry, of change: ChangeContext, scopes: [String], in transaction: borrowing PostgresTransaction
    ) throws(PostgresError) {
        try transaction.perform(
            PolicyLogTable.append,
            PolicyChange(scopes: scopes, actor: entry.actor, requestID: entry.requestID, proof: change.proof))
    }

    private func perform<Result: Sendable>(
        _ change: ChangeContext, _ body: @Sendable (borrowing PostgresTransaction) throws -> Result
    ) async throws(GatewayError) -> Result {
        do {
            return try await pool.withChange(change, body)
        } catch let error as GatewayError {
            throw error
        } catch let error as PostgresError {
            throw translate(error, requestID: change.requestID)
        } catch {
            logger.error("a change failed", metadata: ["request.id": "\(change.requestID)", "reason": "\(error)"])
            throw .unexpected(error)
        }
    }

    private func translate(_ error: PostgresError, requestID: String?) -> GatewayError {
        switch error.sqlState {
        case "23505": return .alreadyExists(table.kind)
        case "23503": return .conflict(reason: table.referenceConflict)
        default: break
        }
        return logger.refusal(
            ofChange: error, "rows cannot be read or changed", in: pool.outage,
            metadata: ["kind": "\(table.kind.rawValue)", "request.id": "\(requestID ?? "")"])
    }
}
