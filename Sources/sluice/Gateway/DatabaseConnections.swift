import Figures
import FoundationEssentials
import GatewayPostgres
import LibPQ
import Logging
import ServiceLifecycle

/// The connections to PostgreSQL, separate for each kind of work. An admin's change may wait for locks, and must not
/// occupy a connection that reads policy.
struct DatabaseConnections {
    /// One kind of connections.
    struct Kind {
        /// What connections are for.
        enum Work {
            case watching, recording, policy, areas, queries, administration, reports, events, idempotency, bulk
            case background, sums, indexing, heartbeats, notifications
        }

        let work: Work
        /// Maximum number of connections.
        let size: Int
        /// Runs while the gateway runs, and closes the connections when it stops; `nil` if whoever uses them does.
        let service: (any Service)?
    }

    /// Every kind, also those that other parts open. The watch comes first, since all others depend on it.
    let kinds: [Kind]
    let configuration: PostgresConfiguration
    /// Reads policy.
    let policyPool: PostgresPool
    /// Reads the grants below a prefix, which may be thousands for one request.
    let areaPool: PostgresPool
    /// Keeps uploads in parts, also those that clients start themselves, and reads counters of quotas, for app users.
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
    /// Knows which server is the primary.
    let primary: Primary
    /// Looks for the primary.
    let watch: PrimaryWatch
    /// How often another timeline or system became the primary.
    let primaryChanges = Counter()
    /// How often the database went back in time.
    let setbacks = Counter()

    /// Maximum number of all connections. For the watch, which has one to each server, five servers are assumed.
    var count: Int { kinds.reduce(0) { $0 + $1.size } }

    /// What runs the connections, in starting order.
    var services: [any Service] { kinds.compactMap(\.service) }

    /// Puts the connections together. Each is opened when it is first used.
    init(_ settings: Settings.Database, logger: Logger) throws {
        let outage = Outage(logger: logger)
        let primary = Primary(logger: logger)
        primary.onChange { [primaryChanges] in primaryChanges.add() }
        self.outage = outage
        self.primary = primary
        func configuration(_ sessionSettings: [(name: String, value: String)]) throws -> PostgresConfiguration {
            var configuration = try settings.configuration("sluice", sessionSettings: sessionSettings)
            configuration.outage = outage
            configuration.primary = primary
            return configuration
        }
        let settingsOfAll = [
            (name: "synchronous_commit", value: "on"), (name: "statement_timeout", value: "30s"),
            (name: "lock_timeout", value: "2s"), (name: "idle_in_transaction_session_timeout", value: "1s"),
        ]
        let plain = try configuration(settingsOfAll)
        self.configuration = plain
        watch = PrimaryWatch(plain, primary: primary)

        var kinds = [
            Kind(work: .watching, size: 5, service: watch),
            Kind(work: .recording, size: settings.ledgerConnections, service: nil),
            Kind(work: .notifications, size: 1, service: nil),
        ]
        func pool(
            _ work: Kind.Work, _ size: Int, _ sessionSettings: [(name: String, value: String)], maxWaiting: Int = 256
        ) throws -> PostgresPool {
            let pool = PostgresPool(
                try configuration(sessionSettings), size: size, maxWaiting: maxWaiting, logger: logger)
            kinds.append(Kind(work: work, size: size, service: pool))
            return pool
        }
        func single(_ work: Kind.Work, _ configuration: PostgresConfiguration) -> PostgresConnection {
            kinds.append(Kind(work: work, size: 1, service: nil))
            return PostgresConnection(configuration, logger: logger)
        }
        policyPool = try pool(.policy, settings.poolConnections, PostgresPolicySource.sessionSettings)
        areaPool = try pool(.areas, 2, PostgresPolicySource.sessionSettings, maxWaiting: 64)
        // To plan these short statements takes longer than to execute them.
        queryPool = try pool(
            .queries, 4, settingsOfAll + [(name: "plan_cache_mode", value: "force_generic_plan")])
        adminPool = try pool(.administration, 4, PostgresAdminStores.sessionSettings)
        ledgerPool = try pool(.reports, 3, PostgresIssuances.sessionSettings)
        // Its statement is not of the ledger, and anybody may make the gateway ask it.
        let eventSettings = PostgresAdminStores.sessionSettings + [(name: "plan_cache_mode", value: "auto")]
        eventPool = try pool(.events, 2, eventSettings, maxWaiting: 64)
        idempotencyPool = try pool(.idempotency, 4, PostgresIdempotency.sessionSettings)
        let bulkLimit = 4
        bulk = BulkConnections(
            try configuration(BulkConnections.sessionSettings), limit: bulkLimit, logger: logger)
        kinds.append(Kind(work: .bulk, size: bulkLimit, service: nil))
        background = single(.background, plain)
        sums = single(.sums, try configuration(UsageUpkeep.sessionSettings))
        indexing = single(.indexing, try configuration(IndexUpkeep.sessionSettings))
        heartbeat = single(.heartbeats, try configuration(Heartbeat.sessionSettings))
        self.kinds = kinds
    }

    /// Checks the database, the schema and the master keys. It waits some time for PostgreSQL to become reachable,
    /// since PostgreSQL may be starting too.
    ///
    /// - Parameters:
    ///   - masterKeys: The keys of this gateway.
    ///   - heartbeat: Announces the gateway between two checks of its keys, and takes that back if they are refused.
    ///   - logger: Logger for the connections.
    /// - Throws: `DatabaseTrial.Failure` if the database does not keep what the promises need, `Migrator.Failure` if
    ///   the schema is not that of this program, ``SettingMistakes`` if secrets are sealed with another master key or
    ///   a running gateway has another one with the same identifier, `PostgresError` if PostgreSQL cannot be reached.
    func check(masterKeys: MasterKeyRing, announcedBy heartbeat: Heartbeat, logger: Logger) async throws {
        let connection = PostgresConnection(configuration, logger: logger)
        let other = PostgresConnection(configuration, logger: logger)
        let migrator = Migrator(connection: connection, program: ProgramVersion.current, logger: logger)
        let deadline = ContinuousClock.now + Self.patience
        var mayBeAnnounced = false
        while true {
            do {
                try await watch.look()
                try await DatabaseTrial(connection, other).check(number: .random(in: 0...Int32.max))
                await other.close()
                try await migrator.check()
                mayBeAnnounced = true
                try await Self.check(masterKeys, announcedBy: heartbeat, over: connection)
                let others = try await migrator.functionsThatDiffer()
                let login = try await DatabaseDiagnosis(connection: connection).login()
                if !others.isEmpty {
                    logger.warning(
                        "functions of the database are not those of this version: run 'sluice migrate' of this version",
                        metadata: ["names": "\(others.joined(separator: ", "))"])
                }
                Self.warn(of: login.flaws, logger)
                return await connection.close()
            } catch let mistakes as SettingMistakes {
                await heartbeat.end()
                throw mistakes
            } catch let error as PostgresError {
                if let flaw = DatabaseTrial.Flaw(error) { throw DatabaseTrial.Failure([flaw]) }
                guard error.isPassing || error.isWait, ContinuousClock.now < deadline else {
                    if mayBeAnnounced { await heartbeat.end() }
                    throw error
                }
                try await Task.sleep(for: .milliseconds(250))
            }
        }
    }

    /// Checks other master keys of a gateway that runs, on a connection of its own.
    ///
    /// - Parameters:
    ///   - masterKeys: The keys that the gateway is to have.
    ///   - heartbeat: Announces them between two checks.
    ///   - logger: Logger for the connection.
    /// - Throws: ``SettingMistakes`` if secrets are sealed with another one or another running gateway has another one
    ///   with the same identifier, `PostgresError` if PostgreSQL does not answer.
    func check(_ masterKeys: MasterKeyRing, announcedBy heartbeat: Heartbeat, logger: Logger) async throws {
        let connection = PostgresConnection(configuration, logger: logger)
        let outcome: Result<Void, any Error>
        do { outcome = .success(try await Self.check(masterKeys, announcedBy: heartbeat, over: connection)) } catch {
            outcome = .failure(error)
        }
        await connection.close()
        try outcome.get()
    }

    /// Announces master keys, and checks them before and after. Of two gateways that take different keys at the same
    /// time, the one that looks later sees the keys of the other. A rotation that begins later sees them too. Keys that
    /// are refused at first are not announced: a host that starts again and again with them disturbs nobody.
    private static func check(
        _ masterKeys: MasterKeyRing, announcedBy heartbeat: Heartbeat, over connection: PostgresConnection
    ) async throws {
        try await judge(masterKeys, besides: heartbeat.gateway, over: connection)
        try await heartbeat.announce()
        try await judge(masterKeys, besides: heartbeat.gateway, over: connection)
    }

    private static func judge(
        _ masterKeys: MasterKeyRing, besides gateway: UUID, over connection: PostgresConnection
    ) async throws {
        let flaws = try await masterKeys.flaws(besides: gateway, over: connection)
        guard flaws.isEmpty else { throw SettingMistakes(masterKeys: flaws) }
    }

    /// Logs in one line what is wrong with the gateway's login, as `sluice doctor` says it.
    private static func warn(of flaws: [LoginFacts.Flaw], _ logger: Logger) {
        guard !flaws.isEmpty else { return }
        logger.warning(
            "the gateway's login has other rights than a gateway needs",
            metadata: [
                "cause": "\(flaws.map(\.message).joined(separator: " "))",
                "advice": "\(flaws.map(\.advice).joined(separator: " "))",
            ])
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
