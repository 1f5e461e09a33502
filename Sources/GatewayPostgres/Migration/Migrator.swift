public import LibPQ
public import Logging

/// Brings the schema of a database up to that of this program: first tables, by migrations, then functions.
public struct Migrator: Sendable {
    /// Why a database cannot be migrated or served from.
    public enum Failure: Error, Equatable, Sendable, CustomStringConvertible {
        /// The database has a migration that this program does not know.
        case schemaIsNewer(version: Int, known: Int)
        /// The database lacks migrations that this program relies on.
        case schemaIsOlder(version: Int, needed: Int)
        /// An applied migration differs from the one that this program carries.
        case checksumDiffers(version: Int)
        /// Some functions differ from those that this program carries.
        case functionsDiffer(names: [String])

        /// One line that tells an operator what is wrong.
        public var description: String {
            switch self {
            case .schemaIsNewer(let version, let known):
                "The database is at schema version \(version); this program knows versions up to \(known)."
            case .schemaIsOlder(let version, let needed):
                "The database is at schema version \(version); run 'sluice migrate' to bring it to \(needed)."
            case .checksumDiffers(let version):
                "Migration \(version) was applied to the database in another form than this program carries."
            case .functionsDiffer(let names):
                """
                The database has other functions than this program carries: \(Self.list(names)); run \
                'sluice migrate' to replace them.
                """
            }
        }

        private static func list(_ names: [String]) -> String {
            let most = 5
            let rest = names.count > most ? " and \(names.count - most) more" : ""
            return names.prefix(most).joined(separator: ", ") + rest
        }
    }

    /// The result of a run.
    public struct Outcome: Equatable, Sendable {
        /// Versions applied, in order; empty if the tables were current.
        public var applied: [Int]
        /// Names of functions created, replaced or dropped; empty if the functions were current.
        public var functions: [String]
        /// Whether the gateway's role now exists and has its rights.
        public var gatewayRoleIsReady: Bool
        /// Number of ledger partitions created.
        public var partitions: Int
    }

    let connection: PostgresConnection
    let migrations: [Migration]
    let functions: [SchemaFunction]
    let logger: Logger
    /// The state to reach.
    let goal: SchemaState

    /// Creates a migrator.
    ///
    /// - Parameters:
    ///   - connection: Logged in as the owner of the schema. It should have no statement or lock timeout.
    ///   - logger: Receives a message for each migration, and one for the functions applied.
    public init(connection: PostgresConnection, logger: Logger) {
        self.init(connection: connection, migrations: Migration.all, logger: logger)
    }

    init(
        connection: PostgresConnection, migrations: [Migration], functions: [SchemaFunction] = SchemaFunction.all,
        logger: Logger
    ) {
        self.connection = connection
        self.migrations = migrations
        self.functions = functions
        self.logger = logger
        goal = SchemaState(migrations, functions)
    }

    /// Applies missing migrations and functions, grants the gateway's role its rights, and prepares partitions of the
    /// ledger.
    ///
    /// Each migration is a transaction of its own, and all functions together are one. Concurrent runs wait for each
    /// other.
    ///
    /// - Parameters:
    ///   - gatewayRole: The group role that the gateway's login is a member of. It is created if permitted.
    ///   - daysAhead: Days after today for which partitions are prepared.
    /// - Throws: ``Failure``, or a ``PostgresError``.
    public func migrate(gatewayRole: String = "sluice_gateway", daysAhead: Int32 = 7) async throws -> Outcome {
        try await connection.withTransaction(deadline: .now + Self.patience) { transaction in
            try transaction.perform(Self.lock, ())
            try transaction.runScript(Self.tables)
        }
        var applied: [Int] = []
        for migration in migrations {
            guard try await apply(migration) else { continue }
            applied.append(Int(migration.version))
            logger.info(
                "migration applied", metadata: ["migration": "\(migration.version)", "name": "\(migration.name)"])
        }
        let (names, isReady) = try await applyFunctions(gatewayRole: gatewayRole)
        if !names.isEmpty {
            logger.info("functions applied", metadata: ["names": "\(names.joined(separator: ", "))"])
        }
        let partitions = try await connection.withTransaction(deadline: .now + Self.patience) { transaction in
            try transaction.perform(Self.lock, ())
            return try transaction.execute(Self.preparePartitions, daysAhead).first ?? 0
        }
        return Outcome(applied: applied, functions: names, gatewayRoleIsReady: isReady, partitions: Int(partitions))
    }

    /// Checks that the schema is the one that this program needs.
    ///
    /// - Throws: ``Failure``, or a ``PostgresError``.
    public func check() async throws {
        let database: SchemaState
        do throws(PostgresError) {
            database = try await connection.execute(Self.readState).first ?? SchemaState([], [])
        } catch {
            // undefined_table
            guard error.sqlState == "42P01" else { throw error }
            database = SchemaState([], [])
        }
        if let misfit = goal.misfit(of: database) { throw misfit }
    }
}
