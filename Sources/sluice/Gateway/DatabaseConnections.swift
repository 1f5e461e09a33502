import Figures
import GatewayCore
import GatewayPostgres
import LibPQ
import Logging

/// The connections to PostgreSQL, separate for each kind of work. An admin's change may wait for locks, and must not
/// occupy a connection that reads policy.
struct DatabaseConnections {
    let configuration: PostgresConfiguration
    /// Reads policy.
    let policyPool: PostgresPool
    /// Keeps uploads in parts and reads counters of quotas, for app users.
    let queryPool: PostgresPool
    /// Reads and changes rows for admins.
    let adminPool: PostgresPool
    /// Records requests with idempotency keys, each on its own. A connection of the ledger records many at once.
    let idempotencyPool: PostgresPool
    /// Reads the ledger for admins, which may take seconds.
    let ledgerPool: PostgresPool
    /// Looks up the secrets of stores for callers that are not authenticated yet.
    let eventPool: PostgresPool
    /// Runs imports, exports and batches of grants.
    let bulk: BulkConnections
    /// Keeps the days of the ledger, settles reservations, aborts abandoned uploads and writes refusals.
    let background: PostgresConnection
    /// Sums up the ledger and empties its expired days, which may take minutes.
    let sums: PostgresConnection
    /// Builds indexes, which may take a minute.
    let indexing: PostgresConnection
    /// Says every few seconds that this gateway runs.
    let heartbeat: PostgresConnection
    /// Tracks the outages of all these connections.
    let outage: Outage
    /// Looks for the primary.
    let watch: PrimaryWatch
    /// How often another timeline or system became the primary.
    let primaryChanges = Counter()
    /// How often the database went back in time.
    let setbacks = Counter()

    init(_ settings: Settings, logger: Logger) throws {
        let outage = Outage(logger: logger)
        let primary = Primary(logger: logger) { [primaryChanges] in primaryChanges.add() }
        self.outage = outage
        func configuration(_ sessionSettings: [(name: String, value: String)]) throws -> PostgresConfiguration {
            var configuration = try settings.database.configuration("sluice", sessionSettings: sessionSettings)
            configuration.outage = outage
            configuration.primary = primary
            return configuration
        }
        let settingsOfAll = [
            ("synchronous_commit", "on"), ("statement_timeout", "30s"), ("lock_timeout", "2s"),
            ("idle_in_transaction_session_timeout", "1s"),
        ]
        let plain = try configuration(settingsOfAll)
        self.configuration = plain
        watch = PrimaryWatch(plain, primary: primary)
        policyPool = PostgresPool(
            try configuration(PostgresPolicySource.sessionSettings), size: settings.database.poolConnections,
            logger: logger)
        // To plan these short statements takes longer than to execute them.
        queryPool = PostgresPool(
            try configuration(settingsOfAll + [("plan_cache_mode", "force_generic_plan")]),
            size: settings.database.queryConnections, logger: logger)
        idempotencyPool = PostgresPool(
            try configuration(PostgresIdempotency.sessionSettings),
            size: settings.database.idempotencyConnections, logger: logger)
        adminPool = PostgresPool(
            try configuration(PostgresAdminStores.sessionSettings), size: settings.database.adminConnections,
            logger: logger)
        ledgerPool = PostgresPool(
            try configuration(PostgresIssuances.sessionSettings), size: settings.database.reportConnections,
            logger: logger)
        eventPool = PostgresPool(
            try configuration(PostgresAdminStores.sessionSettings), size: settings.database.eventConnections,
            maxWaiting: 64, logger: logger)
        bulk = BulkConnections(
            try configuration(BulkConnections.sessionSettings), limit: settings.database.bulkConnections, logger: logger
        )
        background = PostgresConnection(plain, logger: logger)
        sums = PostgresConnection(try configuration(UsageUpkeep.sessionSettings), logger: logger)
        indexing = PostgresConnection(try configuration(IndexUpkeep.sessionSettings), logger: logger)
        heartbeat = PostgresConnection(try configuration(Heartbeat.sessionSettings), logger: logger)
    }

    /// Checks the database, the schema and the master keys. It waits some time for PostgreSQL to become reachable,
    /// since PostgreSQL may be starting too.
    ///
    /// - Throws: `DatabaseTrial.Failure` if the database does not keep what the promises need, `Migrator.Failure` if
    ///   the schema is not that of this program, ``SettingMistakes`` if secrets are sealed with another master key,
    ///   `PostgresError` if PostgreSQL cannot be reached.
    func check(masterKeys: MasterKeyRing, logger: Logger) async throws {
        let connection = PostgresConnection(configuration, logger: logger)
        let other = PostgresConnection(configuration, logger: logger)
        let migrator = Migrator(connection: connection, program: ProgramVersion.current, logger: logger)
        let deadline = ContinuousClock.now + Self.patience
        while true {
            do {
                try await watch.look()
                try await DatabaseTrial(connection, other).check(number: .random(in: 0...Int32.max))
                await other.close()
                try await migrator.check()
                try await Self.check(masterKeys, over: connection)
                return await connection.close()
            } catch let error as PostgresError {
                if let flaw = DatabaseTrial.Flaw(error) { throw DatabaseTrial.Failure([flaw]) }
                guard error.isPassing, ContinuousClock.now < deadline else { throw error }
                try await Task.sleep(for: .milliseconds(250))
            }
        }
    }

    /// Checks other master keys, on a connection of its own.
    ///
    /// - Throws: ``SettingMistakes`` if secrets are sealed with another one, `PostgresError` if PostgreSQL does not
    ///   answer.
    func check(_ masterKeys: MasterKeyRing, logger: Logger) async throws {
        let connection = PostgresConnection(configuration, logger: logger)
        let outcome: Result<Void, any Error>
        do { outcome = .success(try await Self.check(masterKeys, over: connection)) } catch {
            outcome = .failure(error)
        }
        await connection.close()
        try outcome.get()
    }

    private static func check(_ masterKeys: MasterKeyRing, over connection: PostgresConnection) async throws {
        let flaws = try await MasterKeyCheck(connection: connection, keys: masterKeys).run()
        guard flaws.isEmpty else { throw SettingMistakes(masterKeys: flaws) }
    }

    private static let patience = Duration.seconds(30)
}

extension PostgresError {
    /// Whether it makes sense to try again: the server is unreachable, or is starting or stopping.
    fileprivate var isPassing: Bool {
        switch self {
        case .unavailable, .connectionLost: true
        case .server(let error): error.sqlState.hasPrefix("57P")
        default: false
        }
    }
}
