import LibPQ
import Logging

extension Migrator {
    /// Time allowed for a migration. Building an index on a large table takes long.
    static let patience = Duration.seconds(3600)

    /// Applies a migration unless the database has it already. Returns whether it was applied.
    func apply(_ migration: Migration) async throws -> Bool {
        let script = String(decoding: migration.sql, as: UTF8.self)
        return try await withSchema { transaction, database in
            guard let row = goal.migrations.first(where: { $0.version == migration.version }),
                !database.migrations.contains(row)
            else { return false }
            try Self.excludeRecordings(in: transaction)
            try transaction.runScript(script)
            try transaction.perform(Self.insertMigration, row)
            // A database without functions has no decisions yet.
            if !database.functions.isEmpty {
                try transaction.perform(Self.endDecisions, "migration \(migration.version)")
            }
            return true
        }
    }

    /// Applies functions whose checksums differ and drops those that no longer have a file. Then grants the gateway's
    /// role its rights, which a new function lacks.
    ///
    /// - Returns: Names of the functions that differed, and whether the role exists.
    func applyFunctions(gatewayRole: String) async throws -> (names: [String], roleIsReady: Bool) {
        try await withSchema { transaction, database in
            let names = goal.differingFunctions(in: database)
            if !names.isEmpty {
                try Self.excludeRecordings(in: transaction)
                // Bodies may name functions of later files.
                try transaction.runScript("SET LOCAL check_function_bodies = off")
                for name in names { try apply(functionNamed: name, in: transaction) }
                try transaction.perform(Self.endDecisions, "functions")
            }
            return (names, try transaction.execute(Self.grantRights, gatewayRole).first ?? false)
        }
    }

    /// Replaces a function, or drops it if this program has none of that name.
    ///
    /// A function without dependents is dropped first, so that its arguments and its result may change. Triggers,
    /// defaults, views and indexes are dependents. Other functions are not, since their bodies are stored as text.
    /// PostgreSQL refuses to drop a function without a file while it has dependents.
    private func apply(functionNamed name: String, in transaction: borrowing PostgresTransaction) throws {
        let function = functions.first { $0.name == name }
        for drop in try transaction.execute(Self.dropsOfFunction, (name: name, isGone: function == nil)) {
            try transaction.runScript(drop)
        }
        try transaction.perform(Self.deleteFunction, name)
        guard let function, let row = goal.functions.first(where: { $0.name == name }) else { return }
        try transaction.runScript(String(decoding: function.sql, as: UTF8.self))
        try transaction.perform(Self.insertFunction, row)
    }

    /// Runs a transaction while no other migrator runs, after checking that this program can migrate the database.
    private func withSchema<Result: Sendable>(
        _ body: @Sendable (borrowing PostgresTransaction, SchemaState) throws -> Result
    ) async throws -> Result {
        try await retryingLocks {
            try await connection.withTransaction(deadline: .now + Self.patience) { transaction in
                try transaction.perform(Self.lock, ())
                let database = try transaction.execute(Self.readState).first ?? SchemaState([], [])
                if let obstacle = goal.obstacle(in: database) { throw obstacle }
                return try body(transaction, database)
            }
        }
    }

    /// Takes the policy lock before the tables, in the same order as recordings. No recording runs until the
    /// transaction ends, and earlier decisions are stale after it. Gateways of another version then record nothing.
    private static func excludeRecordings(in transaction: borrowing PostgresTransaction) throws {
        try transaction.runScript("SET LOCAL lock_timeout = '2s'")
        try transaction.perform(lockPolicy, ())
    }

    /// Repeats a transaction that does not get its locks. Recordings wait while it asks for a lock, so each attempt
    /// soon gives up.
    private func retryingLocks<Result: Sendable>(_ body: () async throws -> Result) async throws -> Result {
        for _ in 1..<Self.attempts {
            do {
                return try await body()
            } catch let error as PostgresError where ["55P03", "40P01"].contains(error.sqlState) {
                logger.info("a migration waits for a lock")
                try await Task.sleep(for: .seconds(1))
            }
        }
        return try await body()
    }

    private static let attempts = 60
}

// MARK: - Statements

extension Migrator {
    static let lock = Statement<Void, Void>("SELECT pg_advisory_xact_lock(\(AdvisoryLock.migration.key))")

    /// Waits for recordings under way, and holds back new ones.
    static let lockPolicy = Statement<Void, Void>("SELECT pg_advisory_xact_lock(\(AdvisoryLock.policy.key))")

    /// Makes all decisions stale. This is the last act of a migration.
    static let endDecisions = Statement<String, Void>("SELECT append_policy_log('{all}', 'sluice migrate', $1)") {
        [$0]
    }

    /// Creates the tables that list the applied migrations and functions.
    static let tables = """
        CREATE TABLE IF NOT EXISTS schema_migrations (
            version integer NOT NULL,
            name text NOT NULL,
            checksum bytea NOT NULL,
            applied_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            CONSTRAINT schema_migrations_pkey PRIMARY KEY (version)
        );
        CREATE TABLE IF NOT EXISTS schema_functions (
            name text COLLATE "C" NOT NULL,
            checksum bytea NOT NULL,
            applied_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            CONSTRAINT schema_functions_pkey PRIMARY KEY (name)
        )
        """

    static let readState = Statement<Void, SchemaState>(
        "SELECT \(SchemaState.columns)", onlyReads: true
    ) { row throws(PostgresError) in
        try SchemaState(row, from: 0)
    }

    static let insertMigration = Statement<SchemaState.AppliedMigration, Void>(
        "INSERT INTO schema_migrations (version, name, checksum) VALUES ($1, $2, $3)"
    ) { [$0.version, $0.name, $0.checksum] }

    static let insertFunction = Statement<SchemaState.AppliedFunction, Void>(
        "INSERT INTO schema_functions (name, checksum) VALUES ($1, $2)"
    ) { [$0.name, $0.checksum] }

    static let deleteFunction = Statement<String, Void>("DELETE FROM schema_functions WHERE name = $1") { [$0] }

    /// Lists the commands that drop the functions of a name: all of them if the name no longer has a file, otherwise
    /// those without dependents.
    static let dropsOfFunction = Statement<(name: String, isGone: Bool), String>(
        """
        SELECT 'DROP FUNCTION ' || p.oid::regprocedure
        FROM pg_proc p
        WHERE p.pronamespace = 'public'::regnamespace AND p.proname = $1
            AND ($2 OR NOT EXISTS (
                SELECT FROM pg_depend d WHERE d.refclassid = 'pg_proc'::regclass AND d.refobjid = p.oid
            ))
        """
    ) {
        [$0.name, $0.isGone]
    } decode: { row throws(PostgresError) in
        try row.decode(0)
    }

    static let grantRights = Statement<String, Bool>("SELECT grant_to_gateway($1::name)") {
        [$0]
    } decode: { row throws(PostgresError) in
        try row.decode(0)
    }

    static let preparePartitions = Statement<Int32, Int32>("SELECT prepare_issuances_partitions($1)") {
        [$0]
    } decode: { row throws(PostgresError) in
        try row.decode(0)
    }
}
