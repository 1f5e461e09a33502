import FoundationEssentials
public import GatewayCore
import LibPQ
public import Logging
import StrictJSON

/// Changes and reads many grants at once in PostgreSQL.
///
/// The grants sent are gathered in temporary tables, compared with the existing grants, and written in one transaction.
/// Meanwhile only changes of the same grants wait. Issuing waits only for the line in the log at the end. If another
/// change touches the same grants first, the comparison is repeated.
public struct PostgresGrantBulk: GrantBulkStore {
    private let connections: BulkConnections
    private let logger: Logger

    /// Creates a store that logs the reasons for failures.
    public init(connections: BulkConnections, logger: Logger) {
        self.connections = connections
        self.logger = logger
    }

    /// Number of attempts while others keep changing the same grants.
    private static let maxAttempts = 3
    /// Time allowed for comparison and writing together.
    private static let patience = Duration.seconds(1800)
    /// Time that one import waits for another.
    private static let importLockTimeout = "60s"
    private static let rowsPerStatement = 2000

    static let lockImports = Statement<Void, Void>("SELECT pg_advisory_xact_lock(\(AdvisoryLock.imports.key))")

    /// Writes and removes the grants of a batch, all or none.
    public func apply(_ batch: GrantBatch, by change: ChangeContext) async throws(GatewayError) -> GrantBatchResult {
        let lease = try connections.lease(for: .changing)
        do {
            try await lease.connection.runScript(BulkTables.make)
            for start in stride(from: 0, to: batch.writes.count, by: Self.rowsPerStatement) {
                let end = min(start + Self.rowsPerStatement, batch.writes.count)
                try await stage(batch.writes[start..<end], over: lease.connection)
            }
            try await lease.connection.perform(BulkTables.stageRemovals, batch.removals)
            let writing = BulkWriting(change: change) { .item(array: "writes", index: $0) }
            return try await attempt(over: lease.connection, until: .now + Self.patience) { transaction in
                try Self.apply(isDryRun: batch.isDryRun, writing, in: transaction)
            }
        } catch {
            throw translate(error, requestID: change.requestID)
        }
    }

    private static func apply(
        isDryRun: Bool, _ writing: BulkWriting, in transaction: borrowing PostgresTransaction
    ) throws -> GrantBatchResult {
        try BatchMatching.run(within: writing.change.authority, in: transaction)
        let counts = try writing.check(in: transaction)
        let writes = try transaction.execute(BatchMatching.outcomes)
        guard !isDryRun, counts.isChange else {
            if !isDryRun { try transaction.perform(AdminStatements.writeNothing, ()) }
            let shown = writes.map { $0.outcome == .created ? .init(id: nil, outcome: .created, revision: nil) : $0 }
            return GrantBatchResult(change: nil, counts: counts, writes: shown)
        }
        let id = try writing.write(counts, summary: nil, in: transaction)
        let written = writes.map { write in
            write.outcome == .unchanged ? write : .init(id: write.id, outcome: write.outcome, revision: id)
        }
        return GrantBatchResult(change: id, counts: counts, writes: written)
    }

    /// Makes the grants match the lines of an import.
    public func importGrants(
        _ options: GrantImportOptions, by change: ChangeContext,
        renewing renew: @Sendable () async throws(GatewayError) -> ChangeContext,
        _ nextLines: @Sendable () async throws -> [ProposedGrant]?
    ) async throws -> GrantImportResult {
        let matching = ImportMatching(options: options)
        let lease = try connections.lease(for: .changing)
        try await translating(change.requestID) { try await lease.connection.runScript(BulkTables.make) }
        var lines = try await nextLines()
        while let arrived = lines {
            // The next lines are read while PostgreSQL stores these.
            async let next = nextLines()
            try await translating(change.requestID) { try await stage(arrived[...], over: lease.connection) }
            lines = try await next
        }
        let deadline = ContinuousClock.now + Self.patience
        for _ in 1...Self.maxAttempts {
            let writing = BulkWriting(change: try await renew()) { .line($0) }
            do {
                return try await translating(change.requestID) {
                    try await attempt(over: lease.connection, until: deadline) { transaction in
                        try Self.bring(matching, writing, in: transaction)
                    }
                }
            } catch GatewayError.staleCaller {}
        }
        // Only the lines can be sent again, and only by the admin.
        throw GatewayError.slowDown(retryAfter: 1, cause: "the admin's credential was changed in every attempt")
    }

    private static func bring(
        _ matching: ImportMatching, _ writing: BulkWriting, in transaction: borrowing PostgresTransaction
    ) throws -> GrantImportResult {
        let options = matching.options
        if !options.isDryRun { try lockImports(in: transaction) }
        try matching.run(in: transaction)
        let counts = try writing.check(in: transaction)
        let samples = try ImportSamples.read(atMost: options.sampleLimit, in: transaction)
        guard !options.isDryRun, counts.isChange else {
            if !options.isDryRun { try transaction.perform(AdminStatements.writeNothing, ()) }
            return GrantImportResult(change: nil, counts: counts, samples: samples)
        }
        let id = try writing.write(counts, summary: summary(of: options, counts), in: transaction)
        return GrantImportResult(change: id, counts: counts, samples: samples)
    }

    /// Opens a reader of all grants inside a reach that match some filters.
    public func export(
        _ filters: [String: String], within reach: AdminReach
    ) async throws(GatewayError) -> GrantReader {
        let filters = try GrantTable.listing.filterValues(filters) + [reach.parameter]
        let lease = try connections.lease(for: .exporting)
        do throws(PostgresError) {
            try await lease.connection.perform(GrantCursor.open, filters, deadline: .now + Self.patience)
        } catch {
            throw translate(error, requestID: nil)
        }
        return GrantReader { () async throws(GatewayError) in try await read(over: lease) }
    }

    private func read(over lease: BulkConnections.Lease) async throws(GatewayError) -> [Grant] {
        do throws(PostgresError) {
            return try await lease.connection.execute(GrantCursor.fetch)
        } catch {
            throw translate(error, requestID: nil)
        }
    }
}

extension PostgresGrantBulk {
    @concurrent private func stage(_ grants: ArraySlice<ProposedGrant>, over connection: PostgresConnection)
        async throws
    {
        guard !grants.isEmpty else { return }
        try await connection.perform(BulkTables.stage, grants.map { try StagedGrant($0) })
    }

    private func translating<Result: Sendable>(
        _ requestID: String, _ body: () async throws -> Result
    ) async throws(GatewayError) -> Result {
        do {
            return try await body()
        } catch {
            throw translate(error, requestID: requestID)
        }
    }

    /// Waits for other imports, which would write the same grants.
    private static func lockImports(in transaction: borrowing PostgresTransaction) throws {
        try transaction.runScript("SET LOCAL lock_timeout = '\(importLockTimeout)'")
        do throws(PostgresError) {
            try transaction.perform(lockImports, ())
        } catch {
            guard error.sqlState == "55P03" else { throw error }
            throw GatewayError.conflict(reason: "Another import is in progress.")
        }
        try transaction.runScript("SET LOCAL lock_timeout = '2s'")
    }

    /// Runs a transaction, and repeats it if others changed the same grants meanwhile. A refusal that tells what grants
    /// are there is thrown once they are safe on the standby.
    private func attempt<Result: Sendable>(
        over connection: PostgresConnection, until deadline: ContinuousClock.Instant,
        _ body: @Sendable (borrowing PostgresTransaction) throws -> Result
    ) async throws -> Result {
        do {
            for _ in 1...Self.maxAttempts {
                if let result = try await attemptOnce(over: connection, until: deadline, body) { return result }
            }
        } catch let error where tellsOfRows(error) {
            try await connection.perform(AdminStatements.writeNothing, ())
            throw error
        }
        throw GatewayError.conflict(reason: "Others are changing the same grants.")
    }

    /// Runs a transaction. Returns `nil` if another change came first.
    private func attemptOnce<Result: Sendable>(
        over connection: PostgresConnection, until deadline: ContinuousClock.Instant,
        _ body: @Sendable (borrowing PostgresTransaction) throws -> Result
    ) async throws -> Result? {
        do {
            return try await connection.withTransaction(deadline: deadline) { transaction in
                try transaction.runScript(BulkTables.clearFindings)
                return try body(transaction)
            }
        } catch {
            guard Self.isOvertaking(error) else { throw error }
            return nil
        }
    }

    /// Tests for signs of a competing change: a grant with the same identifier was added, or two changes deadlocked.
    private static func isOvertaking(_ error: any Error) -> Bool {
        if error is BulkWriting.Overtaken { return true }
        let state = (error as? PostgresError)?.sqlState
        return state == "23505" || state == "40P01"
    }

    private static func summary(of options: GrantImportOptions, _ counts: GrantCounts) -> String {
        var json = JSONWriter()
        json.object { json in
            json.member("prune", options.prunes)
            json.member("principal", options.scope.principal?.rawValue)
            json.member("bucket", options.scope.bucket?.rawValue)
            json.member("prefix", options.scope.prefix?.rawValue)
            for outcome in GrantOutcome.allCases {
                json.name(outcome.rawValue)
                json.integer(counts[outcome])
            }
        }
        return String(decoding: json.bytes, as: UTF8.self)
    }

    private func translate(_ error: any Error, requestID: String?) -> GatewayError {
        logger.refusal(
            ofChange: error, "grants cannot be read or changed", in: connections.outage,
            metadata: ["request.id": "\(requestID ?? "")"])
    }
}
