import LibPQ
import Logging

extension Migrator {
    /// Time allowed for a migration. Building an index on a large table takes long.
    static let patience = Duration.seconds(3600)
    /// The group role that the gateway's login is a member of. It is created if permitted.
    private static let gatewayRole = "sluice_gateway"

    /// Applies a migration unless the database has it already. Returns whether it was applied.
    ///
    /// A migration that contracts is left for ``finish()``, unless one that expands follows it: then it belongs to an
    /// earlier update, and is applied if no gateway needs what it removes.
    func apply(_ migration: Migration) async throws -> Bool {
        try await withSchema { transaction, database in
            guard let row = goal.migrations.first(where: { $0.version == migration.version }),
                !database.migrations.contains(row)
            else { return false }
            // A database without functions is new: it has no gateways and no decisions yet.
            let isNew = database.functions.isEmpty
            guard !row.isContract || isNew || row.version < goal.neededVersion else { return false }
            try apply(migration, as: row, isNew: isNew, functionSet: nil, in: transaction)
            return true
        }
    }

    /// Applies a migration and records it.
    ///
    /// One that expands runs beside recordings: no decision that was made before rests on what it adds. One that
    /// contracts runs while nothing is recorded, and makes earlier decisions stale, so that a gateway that does not fit
    /// any more records nothing afterwards.
    func apply(
        _ migration: Migration, as row: SchemaState.AppliedMigration, isNew: Bool, functionSet: [UInt8]?,
        in transaction: borrowing PostgresTransaction
    ) throws {
        let removes = row.isContract && !isNew
        if removes {
            try Self.excludeRecordings(in: transaction)
            try Self.refuseGateways(before: row.servesFrom, functionSet: functionSet, in: transaction)
        }
        try transaction.runScript(String(decoding: migration.sql, as: UTF8.self))
        try transaction.perform(Self.insertMigration, row)
        if removes { try transaction.perform(Self.endDecisions, "migration \(migration.version)") }
    }

    /// Applies functions whose checksums differ and those that somebody dropped, and marks those without a file, which
    /// ``finish()`` drops. Then grants the gateway's role its rights, which a new function lacks.
    ///
    /// If a body changes, no recording runs meanwhile and earlier decisions are stale, so that two bodies never work
    /// side by side. Gateways go on afterwards.
    ///
    /// - Returns: Names of the functions applied, and whether the role exists.
    func applyFunctions() async throws -> (names: [String], roleIsReady: Bool) {
        try await withSchema { transaction, database in
            let dropped = try transaction.execute(Self.readMissingFunctions)
            let changed = goal.functionsToApply(in: database, dropped: dropped)
            let replaces = changed.contains { own in
                database.functions.contains { $0.name == own.name && $0.checksum != own.checksum }
            }
            if replaces { try Self.excludeRecordings(in: transaction) }
            // Bodies may name functions of later files.
            try transaction.runScript("SET LOCAL check_function_bodies = off")
            for row in changed {
                guard let function = functions.first(where: { $0.name == row.name }) else { continue }
                try transaction.runScript(String(decoding: function.sql, as: UTF8.self))
                try transaction.perform(Self.noteFunction, row)
            }
            let superseded = goal.strangers(in: database).filter { !$0.isSuperseded }
            try transaction.perform(Self.supersedeFunctions, superseded.map(\.name))
            if replaces { try transaction.perform(Self.endDecisions, "functions") }
            try transaction.perform(Self.noteProgram, program)
            return (changed.map(\.name), try transaction.execute(Self.grantRights, Self.gatewayRole).first ?? false)
        }
    }

    /// Runs a transaction while no other migrator runs, after checking that this program can migrate the database.
    func withSchema<Result: Sendable>(
        _ body: @Sendable (borrowing PostgresTransaction, SchemaState) throws -> Result
    ) async throws -> Result {
        try await retryingLocks {
            try await connection.withTransaction(deadline: .now + Self.patience) { transaction in
                let database = try Self.begin(transaction)
                if let obstacle = goal.obstacle(in: database) { throw obstacle }
                if let newer = try newerProgram(in: transaction) {
                    throw Failure.migratedByNewer(program: newer, own: Self.text(program))
                }
                try transaction.runScript("SET LOCAL lock_timeout = '\(Self.lockTimeout)'")
                return try body(transaction, database)
            }
        }
    }

    /// Waits for other migrators, refuses a login that the schema does not belong to, and reads the state of the
    /// database.
    static func begin(_ transaction: borrowing PostgresTransaction) throws -> SchemaState {
        try transaction.perform(lock, ())
        try refuseForeignLogin(in: transaction)
        try transaction.runScript(tables)
        return try transaction.execute(readState, ()).first ?? SchemaState([], [])
    }

    /// Refuses a login that the schema does not belong to.
    private static func refuseForeignLogin(in transaction: borrowing PostgresTransaction) throws {
        if let (login, owner, hasSchema) = try transaction.execute(Self.foreignLogin, ()).first {
            throw hasSchema
                ? Failure.foreignLogin(login: login, owner: owner)
                : Failure.foreignDatabase(login: login, owner: owner)
        }
    }

    /// Returns the version of the newest program that has migrated the database, if it is newer than this one. A
    /// version need not have migrations of its own: it may only bring other bodies of functions.
    func newerProgram(in transaction: borrowing PostgresTransaction) throws -> String? {
        let newest = try transaction.execute(Self.newestProgram, ()).first ?? []
        return program.lexicographicallyPrecedes(newest) ? Self.text(newest) : nil
    }

    private static func text(_ version: [Int32]) -> String { version.map(String.init).joined(separator: ".") }

    /// Gives the gateway's role its rights and prepares partitions, by the functions of a newer program.
    func prepareForServing(_ daysAhead: Int32) async throws -> (roleIsReady: Bool, partitions: Int) {
        try await retryingLocks {
            try await connection.withTransaction(deadline: .now + Self.patience) { transaction in
                try transaction.perform(Self.lock, ())
                try transaction.runScript("SET LOCAL lock_timeout = '\(Self.lockTimeout)'")
                let isReady = try transaction.execute(Self.grantRights, Self.gatewayRole).first ?? false
                return (isReady, Int(try transaction.execute(Self.preparePartitions, daysAhead).first ?? 0))
            }
        }
    }

    /// Takes the policy lock before the tables, in the same order as recordings. No recording runs until the
    /// transaction ends.
    static func excludeRecordings(in transaction: borrowing PostgresTransaction) throws {
        try transaction.perform(lockPolicy, ())
    }

    /// Repeats a transaction that does not get its locks. Recordings wait behind it while it asks for a lock, so each
    /// attempt soon gives up.
    private func retryingLocks<Result: Sendable>(_ body: () async throws -> Result) async throws -> Result {
        for _ in 1..<Self.attempts {
            do {
                return try await body()
            } catch let error as PostgresError where error.isContention {
                logger.info("a migration waits for a lock")
                try await Task.sleep(for: .seconds(1))
            }
        }
        return try await body()
    }

    /// Time for which a migration asks for one lock, and for which others may have to wait behind it.
    static let lockTimeout = "500ms"
    private static let attempts = 120
}

extension PostgresError {
    /// Whether another transaction was in the way: a lock was not free in time, there was a deadlock, or the upkeep of
    /// partitions changed a table whose rights were being given.
    fileprivate var isContention: Bool {
        guard case .server(let error) = self else { return false }
        return ["55P03", "40P01"].contains(error.sqlState)
            || (error.sqlState == "XX000" && error.message == "tuple concurrently updated")
    }
}

// MARK: - Statements

extension Migrator {
    static let lock = Statement<Void, Void>("SELECT pg_advisory_xact_lock(\(AdvisoryLock.migration.key))")

    /// Waits for recordings under way, and holds back new ones.
    static let lockPolicy = Statement<Void, Void>("SELECT pg_advisory_xact_lock(\(AdvisoryLock.policy.key))")

    /// Makes all decisions stale. This is the last act of a migration that contracts, and of a change of functions.
    static let endDecisions = Statement<String, Void>("SELECT append_policy_log('{all}', 'sluice migrate', $1)") {
        [$0]
    }

    /// Creates the tables that list the applied migrations and functions, and the programs that applied them.
    static let tables = """
        CREATE TABLE IF NOT EXISTS schema_migrations (
            version integer NOT NULL,
            name text NOT NULL,
            checksum bytea NOT NULL,
            kind text NOT NULL,
            serves_from integer NOT NULL,
            applied_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            CONSTRAINT schema_migrations_pkey PRIMARY KEY (version),
            CONSTRAINT schema_migrations_kind_check CHECK (kind IN ('expand', 'contract'))
        );
        CREATE TABLE IF NOT EXISTS schema_functions (
            name text COLLATE "C" NOT NULL,
            checksum bytea NOT NULL,
            contract bytea NOT NULL,
            applied_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            superseded_at timestamptz,
            CONSTRAINT schema_functions_pkey PRIMARY KEY (name)
        );
        CREATE TABLE IF NOT EXISTS schema_programs (
            version integer[] NOT NULL,
            migrated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            CONSTRAINT schema_programs_pkey PRIMARY KEY (version)
        )
        """

    /// Finds the login and the owner of the schema, if they are not the same. Before there is a schema, only a
    /// superuser has to be the owner of the database: what others make is theirs from then on.
    static let foreignLogin = Statement<Void, (login: String, owner: String, hasSchema: Bool)>(
        """
        SELECT current_user, o.rolname, s.has_schema
        FROM (
            SELECT c.relowner AS owner, true AS has_schema FROM pg_class c
            WHERE c.oid = to_regclass('public.schema_migrations')
            UNION ALL
            SELECT d.datdba, false FROM pg_database d
            WHERE d.datname = current_database() AND to_regclass('public.schema_migrations') IS NULL
                AND (SELECT r.rolsuper FROM pg_roles r WHERE r.rolname = current_user)
        ) s
        JOIN pg_roles o ON o.oid = s.owner
        WHERE o.rolname <> current_user
        """, onlyReads: true
    ) {
        []
    } decode: { row throws(PostgresError) in
        (try row.next(), try row.next(), try row.next())
    }

    static let newestProgram = Statement<Void, [Int32]>(
        "SELECT max(p.version) FROM schema_programs p HAVING count(*) > 0", onlyReads: true)

    static let noteProgram = Statement<[Int32], Void>(
        "INSERT INTO schema_programs (version) VALUES ($1) ON CONFLICT (version) DO NOTHING"
    ) { [$0] }

    static let readState = Statement<Void, SchemaState>(
        "SELECT \(SchemaState.columns)", onlyReads: true
    ) { row throws(PostgresError) in
        try SchemaState(row, from: 0)
    }

    /// Lists functions that are on record as applied and do not exist.
    static let readMissingFunctions = Statement<Void, String>(
        """
        SELECT f.name FROM schema_functions f
        WHERE NOT EXISTS (
            SELECT FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace AND p.proname = f.name
        )
        ORDER BY f.name
        """, onlyReads: true)

    static let insertMigration = Statement<SchemaState.AppliedMigration, Void>(
        "INSERT INTO schema_migrations (version, name, checksum, kind, serves_from) VALUES ($1, $2, $3, $4, $5)"
    ) { [$0.version, $0.name, $0.checksum, $0.isContract ? "contract" : "expand", $0.servesFrom] }

    static let noteFunction = Statement<SchemaState.AppliedFunction, Void>(
        """
        INSERT INTO schema_functions (name, checksum, contract) VALUES ($1, $2, $3)
        ON CONFLICT (name) DO UPDATE SET
            checksum = excluded.checksum, contract = excluded.contract, applied_at = excluded.applied_at,
            superseded_at = NULL
        """
    ) { [$0.name, $0.checksum, $0.contract] }

    static let supersedeFunctions = Statement<[String], Void>(
        "UPDATE schema_functions SET superseded_at = clock_timestamp() WHERE name = ANY ($1)"
    ) { [$0] }

    static let grantRights = Statement<String, Bool>("SELECT grant_to_gateway($1::name)") {
        [$0]
    }

    static let preparePartitions = Statement<Int32, Int32>("SELECT prepare_issuances_partitions($1)") {
        [$0]
    }
}
