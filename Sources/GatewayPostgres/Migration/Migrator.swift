import LibCrypto
public import LibPQ
public import Logging

/// Brings the schema of a database up to that of this program.
public struct Migrator: Sendable {
    /// Why a database cannot be migrated or served from.
    public enum Failure: Error, Equatable, Sendable, CustomStringConvertible {
        /// The database was migrated by a newer program.
        case schemaIsNewer(version: Int, known: Int)
        /// The database lacks migrations that this program relies on.
        case schemaIsOlder(version: Int, needed: Int)
        /// An applied migration is not the one that this program carries.
        case checksumDiffers(version: Int)

        /// One line for an operator.
        public var description: String {
            switch self {
            case .schemaIsNewer(let version, let known):
                "The database is at schema version \(version); this program knows versions up to \(known)."
            case .schemaIsOlder(let version, let needed):
                "The database is at schema version \(version); run 'sluice migrate' to bring it to \(needed)."
            case .checksumDiffers(let version):
                "Migration \(version) was applied to the database in another form than this program carries."
            }
        }
    }

    /// What a run did.
    public struct Outcome: Equatable, Sendable {
        /// Versions that were applied, in order; empty where the schema was current.
        public var applied: [Int]
        /// Whether the gateway's role exists now and has its rights.
        public var gatewayRoleIsReady: Bool
        /// Partitions of the ledger that were made.
        public var partitions: Int
    }

    private let connection: PostgresConnection
    private let migrations: [Migration]
    private let logger: Logger

    /// Makes a migrator.
    ///
    /// - Parameters:
    ///   - connection: Logged in as the owner of the schema; no statement or lock timeout should be set.
    ///   - logger: Told of each migration.
    public init(connection: PostgresConnection, logger: Logger) {
        self.init(connection: connection, migrations: Migration.all, logger: logger)
    }

    init(connection: PostgresConnection, migrations: [Migration], logger: Logger) {
        self.connection = connection
        self.migrations = migrations
        self.logger = logger
    }

    /// The time a migration may take: an index on a large table takes long.
    private static let patience = Duration.seconds(3600)

    /// Applies what is missing, each migration in a transaction of its own, gives the gateway's role its rights and prepares
    /// partitions of the ledger. Several at once wait for each other.
    ///
    /// - Parameters:
    ///   - gatewayRole: The group role that the gateway's login is a member of; made where that is permitted.
    ///   - daysAhead: Partitions are prepared for today and so many days.
    /// - Throws: ``Failure``, or a ``PostgresError``.
    public func migrate(gatewayRole: String = "sluice_gateway", daysAhead: Int32 = 7) async throws -> Outcome {
        try await run(Self.createTable)
        var applied: [Int] = []
        for migration in migrations {
            if try await apply(migration) {
                applied.append(Int(migration.version))
                logger.info(
                    "migration applied", metadata: ["version": "\(migration.version)", "name": "\(migration.name)"])
            }
        }
        let checksums = migrations.map { ($0.version, digest($0)) }
        return try await connection.withTransaction(deadline: .now + Self.patience) { [applied] transaction in
            try transaction.perform(Self.lock, ())
            try Self.compare(transaction.execute(Self.readApplied), with: checksums)
            let isReady = try transaction.execute(Self.grantRights, gatewayRole).first ?? false
            let partitions = try transaction.execute(Self.preparePartitions, daysAhead).first ?? 0
            return Outcome(applied: applied, gatewayRoleIsReady: isReady, partitions: Int(partitions))
        }
    }

    /// Checks that the schema is the one that this program was written for.
    ///
    /// - Throws: ``Failure``, or a ``PostgresError``.
    public func check() async throws {
        let checksums = migrations.map { ($0.version, digest($0)) }
        let applied: [Applied]
        do throws(PostgresError) {
            applied = try await connection.execute(Self.readApplied)
        } catch {
            // undefined_table
            guard error.sqlState == "42P01" else { throw error }
            applied = []
        }
        try Self.compare(applied, with: checksums)
        guard applied.count == migrations.count else {
            throw Failure.schemaIsOlder(version: applied.count, needed: migrations.count)
        }
    }

    private func run(_ statement: Statement<Void, Void>) async throws {
        try await connection.withTransaction(deadline: .now + Self.patience) { transaction in
            try transaction.perform(Self.lock, ())
            try transaction.perform(statement, ())
        }
    }

    /// What tells the applied migrations, in order, from those that this program was built for; `nil` where they are the same.
    static func misfit(of applied: [Applied]) -> Failure? {
        let known = Int(carried.last?.version ?? 0)
        for row in applied {
            guard let own = carried.first(where: { $0.version == row.version }) else {
                return .schemaIsNewer(version: Int(row.version), known: known)
            }
            guard own.name == row.name, own.checksum == row.checksum else {
                return .checksumDiffers(version: Int(row.version))
            }
        }
        guard applied.count == carried.count else {
            return .schemaIsOlder(version: Int(applied.last?.version ?? 0), needed: known)
        }
        return nil
    }

    private static let carried = Migration.all.map { migration in
        Applied(
            version: migration.version, name: migration.name,
            checksum: DigestAlgorithm.sha256.digest(of: migration.sql).bytes)
    }

    /// Applies a migration unless it is there already; gives whether it was applied.
    ///
    /// No recording is under way meanwhile, and what was decided before is stale after it: gateways of another version record
    /// nothing any more.
    private func apply(_ migration: Migration) async throws -> Bool {
        let checksums = migrations.map { ($0.version, digest($0)) }
        let script = String(decoding: migration.sql, as: UTF8.self)
        let row = Applied(version: migration.version, name: migration.name, checksum: digest(migration))
        return try await retryingLocks {
            try await connection.withTransaction(deadline: .now + Self.patience) { transaction in
                try transaction.perform(Self.lock, ())
                let applied = try transaction.execute(Self.readApplied)
                try Self.compare(applied, with: checksums)
                guard !applied.contains(where: { $0.version == row.version }) else { return false }
                // Before the tables, as those who record do.
                try transaction.runScript("SET LOCAL lock_timeout = '2s'")
                try transaction.perform(Self.lockPolicy, ())
                try transaction.runScript(script)
                try transaction.perform(Self.insertApplied, row)
                if row.version > Self.lastWithoutLine {
                    try transaction.perform(Self.endDecisions, "migration \(row.version)")
                }
                return true
            }
        }
    }

    /// Who records waits while a lock is asked for: that is given up soon, and tried again.
    private func retryingLocks(_ body: () async throws -> Bool) async throws -> Bool {
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

    /// Migrations up to this one came before anything was released: no gateway runs while they are applied.
    private static let lastWithoutLine: Int32 = 25

    private func digest(_ migration: Migration) -> [UInt8] {
        DigestAlgorithm.sha256.digest(of: migration.sql).bytes
    }

    private static func compare(_ applied: [Applied], with known: [(version: Int32, checksum: [UInt8])]) throws {
        for row in applied {
            guard let match = known.first(where: { $0.version == row.version }) else {
                throw Failure.schemaIsNewer(version: Int(row.version), known: Int(known.last?.version ?? 0))
            }
            guard match.checksum == row.checksum else { throw Failure.checksumDiffers(version: Int(row.version)) }
        }
    }
}

extension Migrator {
    /// A row of `schema_migrations`.
    struct Applied: Sendable {
        let version: Int32
        let name: String
        let checksum: [UInt8]
    }

    static let lock = Statement<Void, Void>("SELECT pg_advisory_xact_lock(7310868746)")

    /// Waits for recordings under way, and keeps others waiting.
    static let lockPolicy = Statement<Void, Void>("SELECT pg_advisory_xact_lock(7310868744)")

    /// Makes all decisions stale; the last act of a migration.
    static let endDecisions = Statement<String, Void>("SELECT append_policy_log('{all}', 'sluice migrate', $1)") {
        [$0]
    }

    static let createTable = Statement<Void, Void>(
        """
        CREATE TABLE IF NOT EXISTS schema_migrations (
            version integer NOT NULL,
            name text NOT NULL,
            checksum bytea NOT NULL,
            applied_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            CONSTRAINT schema_migrations_pkey PRIMARY KEY (version)
        )
        """
    )

    static let readApplied = Statement<Void, Applied>(
        "SELECT version, name, checksum FROM schema_migrations ORDER BY version DESC", onlyReads: true
    ) { row throws(PostgresError) in
        Applied(version: try row.decode(0), name: try row.decode(1), checksum: try row.decode(2))
    }

    static let insertApplied = Statement<Applied, Void>(
        "INSERT INTO schema_migrations (version, name, checksum) VALUES ($1, $2, $3)"
    ) { [$0.version, $0.name, $0.checksum] }

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
