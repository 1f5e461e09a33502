import GatewayCore
public import LibPQ
public import Logging

/// Brings the schema of a database up to that of this program: first tables, by migrations, then functions.
public struct Migrator: Sendable {
    /// Why a database cannot be migrated or served from.
    public enum Failure: Error, Equatable, Sendable, CustomStringConvertible {
        /// The database has a migration that the program does not know, so it cannot migrate it.
        case schemaIsNewer(version: Int, known: Int)
        /// A newer program has migrated the database, and this one would take its functions back.
        case migratedByNewer(program: String, own: String)
        /// The database lacks migrations that the program relies on.
        case schemaIsOlder(version: Int, needed: Int)
        /// An update was finished that gateways of this program cannot serve after.
        case programIsOlder(version: Int, servesFrom: Int)
        /// An applied migration differs from the one that this program carries.
        case checksumDiffers(version: Int)
        /// The database lacks functions that this program calls, or has them with other arguments or results.
        case functionsMissing(names: [String])
        /// Functions have other arguments or results than those of the same names in this program.
        case contractsDiffer(names: [String])
        /// Functions have other bodies than those of this program, whose ``Migrator/migrate(daysAhead:)`` has not run.
        case functionsDiffer(names: [String])
        /// Gateways run that need what the end of an update removes; never empty.
        case gatewaysRun([NeedyGateway])
        /// The login is not the role that the schema belongs to, so later logins could not change what it makes.
        case foreignLogin(login: String, owner: String)
        /// There is no schema yet, and the login is a superuser that the database does not belong to.
        case foreignDatabase(login: String, owner: String)

        /// One line that tells an operator what is wrong, and what to do.
        public var description: String {
            switch self {
            case .schemaIsNewer(let version, let known):
                """
                The database is at schema version \(version); this program knows versions up to \(known). Run \
                'sluice migrate' of the newer program.
                """
            case .migratedByNewer(let program, let own):
                """
                Version \(program) has migrated the database, and this is version \(own): migrate, and finish the \
                update, with the newer program.
                """
            case .schemaIsOlder(let version, let needed):
                "The database is at schema version \(version); run 'sluice migrate' to bring it to \(needed)."
            case .programIsOlder(let version, let servesFrom):
                """
                This program has schema version \(version), and the database serves gateways from schema version \
                \(servesFrom) on: start the newer program.
                """
            case .checksumDiffers(let version):
                "Migration \(version) was applied to the database in another form than this program carries."
            case .functionsMissing(let names):
                """
                The database lacks functions that this program calls: \(Self.list(names)); run 'sluice migrate', or, \
                if an update was finished, start the newer program.
                """
            case .contractsDiffer(let names):
                """
                Functions of the database have other arguments or results than those of the same names in this \
                program: \(Self.list(names)). A changed function needs a name of its own.
                """
            case .functionsDiffer(let names):
                """
                The database has these functions in another form than this program carries: \(Self.list(names)); run \
                'sluice migrate' of this version first.
                """
            case .gatewaysRun(let gateways):
                """
                These gateways need what would be removed: \(Self.list(gateways.map(Self.text))). Update or stop \
                them, and try again; a gateway that did not stop by itself counts for a minute.
                """
            case .foreignLogin(let login, let owner):
                """
                The login is \(login), and the schema belongs to \(owner), who alone can migrate it: what another \
                role makes, its owner could not change later. Log in as \(owner), or, as a superuser, add \
                options=-crole%3D\(owner) to the URL.
                """
            case .foreignDatabase(let login, let owner):
                """
                The login is \(login), and the database belongs to \(owner). The schema would belong to \(login), and \
                \(owner) could not migrate it later. Log in as \(owner), or make \(login) the owner of the database.
                """
            }
        }

        private static func text(_ gateway: NeedyGateway) -> String {
            "\(gateway.id.lowercaseText) (version \(gateway.version), schema version \(gateway.schemaVersion), "
                + "seen \(gateway.secondsAgo) s ago)"
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
        /// Names of functions created or replaced; empty if the functions were current.
        public var functions: [String]
        /// What waits for ``Migrator/finish()``.
        public var leftovers: Leftovers
        /// Whether the gateway's role now exists and has its rights.
        public var gatewayRoleIsReady: Bool
        /// Number of ledger partitions created.
        public var partitions: Int
        /// What has migrated the database, such as `version 1.1.0`, if it is newer than this program and this program
        /// can serve from it. Then its migrations and functions were left as they are.
        public var newer: String?
    }

    let connection: PostgresConnection
    let migrations: [Migration]
    let functions: [SchemaFunction]
    /// The version of the program, as numbers. Those of a pre-release are the version's that it precedes.
    let program: [Int32]
    let logger: Logger
    /// The state to reach.
    let goal: SchemaState

    /// Creates a migrator.
    ///
    /// - Parameters:
    ///   - connection: Logged in as the owner of the schema. It should have no statement or lock timeout.
    ///   - program: The version of the program, such as `1.0.0`.
    ///   - logger: Receives a message for each migration, and one for the functions applied.
    public init(connection: PostgresConnection, program: String, logger: Logger) {
        self.init(
            connection: connection, migrations: Migration.all, functions: SchemaFunction.all, program: program,
            logger: logger)
    }

    init(
        connection: PostgresConnection, migrations: [Migration], functions: [SchemaFunction], program: String,
        logger: Logger
    ) {
        self.connection = connection
        self.migrations = migrations
        self.functions = functions
        let numbers = program.utf8.prefix { $0 != UInt8(ascii: "-") && $0 != UInt8(ascii: "+") }
        self.program = numbers.split(separator: UInt8(ascii: ".")).map { Int32(Substring($0)) ?? 0 }
        self.logger = logger
        goal = SchemaState(migrations, functions)
    }

    /// Applies missing migrations and functions, grants the gateway's role its rights, and prepares partitions of the
    /// ledger. Gateways of the version before serve meanwhile and afterwards, until ``finish()``.
    ///
    /// Each migration is a transaction of its own, and all functions together are one. Concurrent runs wait for each
    /// other.
    ///
    /// A database that a newer program has migrated stays as it is. If gateways of this program can still serve from
    /// it, that is no failure: an update that is not finished can be taken back.
    ///
    /// - Parameter daysAhead: Days after today for which partitions are prepared.
    /// - Throws: ``Failure``, or a ``PostgresError``.
    public func migrate(daysAhead: Int32 = 7) async throws -> Outcome {
        let (database, newer) = try await connection.withTransaction(deadline: .now + Self.patience) { transaction in
            (try Self.begin(transaction), try newerProgram(in: transaction))
        }
        if newer != nil || database.version > goal.version, goal.misfit(of: database) == nil {
            let (isReady, partitions) = try await prepareForServing(daysAhead)
            return Outcome(
                applied: [], functions: [], leftovers: Leftovers(migrations: [], functions: []),
                gatewayRoleIsReady: isReady, partitions: partitions,
                newer: newer.map { "version \($0)" } ?? "a program with schema version \(database.version)")
        }
        var applied: [Int] = []
        for migration in migrations {
            guard try await apply(migration) else { continue }
            applied.append(Int(migration.version))
            logger.info(
                "migration applied", metadata: ["migration": "\(migration.version)", "name": "\(migration.name)"])
        }
        let (names, isReady) = try await applyFunctions()
        if !names.isEmpty {
            logger.info("functions applied", metadata: ["names": "\(names.joined(separator: ", "))"])
        }
        let partitions = try await withSchema { transaction, _ in
            try transaction.execute(Self.preparePartitions, daysAhead).first ?? 0
        }
        return Outcome(
            applied: applied, functions: names, leftovers: try await leftovers(), gatewayRoleIsReady: isReady,
            partitions: Int(partitions))
    }

    /// Checks that a gateway of this program fits the schema.
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

    /// Lists functions that the database has in another form than this program carries, because
    /// ``migrate(daysAhead:)`` of this program has not run. Gateways serve with other bodies, so ``check()`` passes.
    ///
    /// - Returns: Their names; empty if a newer program has migrated the database.
    public func functionsThatDiffer() async throws(PostgresError) -> [String] {
        let newest = try await connection.execute(Self.newestProgram).first ?? []
        guard !program.lexicographicallyPrecedes(newest) else { return [] }
        let database = try await connection.execute(Self.readState).first ?? SchemaState([], [])
        return goal.functionsToApply(in: database, dropped: []).map(\.name)
    }
}
