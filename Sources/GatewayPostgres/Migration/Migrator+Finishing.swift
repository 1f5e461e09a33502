public import FoundationEssentials
import LibPQ

extension Migrator {
    /// A gateway that needs what the end of an update removes.
    public struct NeedyGateway: Sendable, Equatable {
        /// Identifier of this start of the gateway, as in `GET /admin/v1/gateways`.
        public var id: UUID
        /// Version of its program.
        public var version: String
        /// The highest migration that its program carries.
        public var schemaVersion: Int
        /// Seconds since its last heartbeat.
        public var secondsAgo: Int
    }

    /// Migrations and functions that wait for ``finish()``.
    public struct Leftovers: Sendable, Equatable, CustomStringConvertible {
        /// Versions of the migrations that contract.
        public var migrations: [Int]
        /// Names of the functions that no gateway of this program calls.
        public var functions: [String]

        /// Whether nothing waits.
        public var isEmpty: Bool { migrations.isEmpty && functions.isEmpty }

        /// Such as `migrations 8 and functions record_issuance`; empty if nothing waits.
        public var description: String {
            [("migrations", migrations.map(String.init)), ("functions", functions)].filter { !$1.isEmpty }
                .map { "\($0) \($1.joined(separator: ", "))" }.joined(separator: " and ")
        }
    }

    /// Ends an update: applies the migrations that contract and drops superseded functions. Gateways of the version
    /// before issue nothing from then on.
    ///
    /// Each migration is a transaction of its own, and so are all functions together.
    ///
    /// - Returns: What was applied and dropped; empty if nothing waited.
    /// - Throws: ``Failure/gatewaysRun(_:)`` if a gateway that calls other functions than this program, or is older
    ///   than a migration permits, was seen within a minute; ``Failure/functionsDiffer(names:)`` if
    ///   ``migrate(daysAhead:)`` of this program has not run; another ``Failure``; or a ``PostgresError``.
    public func finish() async throws -> Leftovers {
        var finished = Leftovers(migrations: [], functions: [])
        for migration in migrations where migration.version > goal.neededVersion {
            let isApplied = try await withSchema { transaction, database in
                try demandMigration(database)
                guard let row = goal.waitingContracts(in: database).first(where: { $0.version == migration.version })
                else { return false }
                try apply(migration, as: row, isNew: false, functionSet: goal.functionSet, in: transaction)
                return true
            }
            if isApplied { finished.migrations.append(Int(migration.version)) }
        }
        finished.functions = try await dropFunctions()
        return finished
    }

    /// Reads what waits for ``finish()`` in a database that this program fits.
    public func leftovers() async throws -> Leftovers {
        let database = try await connection.execute(Self.readState).first ?? SchemaState([], [])
        return Leftovers(
            migrations: goal.waitingContracts(in: database).map { Int($0.version) },
            functions: goal.strangers(in: database).filter(\.isSuperseded).map(\.name))
    }

    /// Drops the superseded functions; returns their names.
    private func dropFunctions() async throws -> [String] {
        try await withSchema { transaction, database in
            try demandMigration(database)
            let names = goal.strangers(in: database).filter(\.isSuperseded).map(\.name)
            guard !names.isEmpty else { return [] }
            try Self.excludeRecordings(in: transaction)
            try Self.refuseGateways(before: goal.servesFrom, functionSet: goal.functionSet, in: transaction)
            for drop in try transaction.execute(Self.dropsOfFunctions, names) { try transaction.runScript(drop) }
            try transaction.perform(Self.deleteFunctions, names)
            try transaction.perform(Self.endDecisions, "superseded functions")
            return names
        }
    }

    /// Refuses unless ``migrate(daysAhead:)`` of this program has run. What a newer program has migrated was refused
    /// before, so functions that differ are older ones, or those of another build of this version.
    private func demandMigration(_ database: SchemaState) throws(Failure) {
        if goal.lacksExpansion(database) {
            throw .schemaIsOlder(version: Int(database.version), needed: Int(goal.neededVersion))
        }
        let others = goal.functionsToApply(in: database, dropped: []).map(\.name)
        if !others.isEmpty { throw .functionsDiffer(names: others) }
    }

    /// Refuses while gateways were seen within a minute that cannot serve any more afterwards.
    ///
    /// - Parameters:
    ///   - version: The schema version from which on a gateway may serve.
    ///   - functionSet: The set of functions that gateways have to call; `nil` for any.
    static func refuseGateways(
        before version: Int32, functionSet: [UInt8]?, in transaction: borrowing PostgresTransaction
    ) throws {
        let gateways = try transaction.execute(needyGateways, (servesFrom: version, functionSet: functionSet))
        guard gateways.isEmpty else { throw Failure.gatewaysRun(gateways) }
    }
}

// MARK: - Statements

extension Migrator {
    static let needyGateways = Statement<(servesFrom: Int32, functionSet: [UInt8]?), NeedyGateway>(
        """
        SELECT g.id, g.version, g.schema_version,
            greatest(0, date_part('epoch', clock_timestamp() - g.last_seen_at))::integer
        FROM gateways g
        WHERE g.last_seen_at > clock_timestamp() - interval '1 minute'
            AND g.last_seen_at <= clock_timestamp() + interval '30 seconds'
            AND (g.schema_version < $1 OR g.function_set <> $2::bytea)
        ORDER BY g.id
        """, onlyReads: true
    ) {
        [$0.servesFrom, $0.functionSet]
    } decode: { row throws(PostgresError) in
        NeedyGateway(
            id: try row.next(), version: try row.next(), schemaVersion: Int(try row.next(as: Int32.self)),
            secondsAgo: Int(try row.next(as: Int32.self)))
    }

    /// Lists the commands that drop functions. PostgreSQL refuses those that something depends on.
    static let dropsOfFunctions = Statement<[String], String>(
        """
        SELECT 'DROP FUNCTION ' || p.oid::regprocedure
        FROM pg_proc p
        WHERE p.pronamespace = 'public'::regnamespace AND p.proname = ANY ($1)
        """
    ) {
        [$0]
    }

    static let deleteFunctions = Statement<[String], Void>("DELETE FROM schema_functions WHERE name = ANY ($1)") {
        [$0]
    }
}
