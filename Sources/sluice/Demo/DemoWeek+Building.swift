import DevStack
import FoundationEssentials
import GatewayCore
import GatewayPostgres
import LibPQ
import Logging

extension DemoWeek {
    /// Makes the week of a demo at the first start with a data directory, before all other rows. If it fails, the
    /// database stays in the past, and the next start makes it anew.
    ///
    /// - Parameters:
    ///   - settings: The settings of the gateway that will serve the demo.
    ///   - past: The demo's database.
    ///   - keys: The secrets of the demo.
    ///   - storeEndpoint: Origin of the store.
    static func makeOnce(
        _ settings: Settings, in past: PastDatabase, keys: DemoKeys, storeEndpoint: String, logger: Logger
    ) async throws {
        guard try await past.isUnused() else { return }
        let end = Date.now
        let start = start(before: end)
        try await past.enter(start)
        let clock = WeekClock(at: start) { try await past.move(to: $0) }
        let parts = try WeekParts(settings, clock: clock, logger: logger)
        let week = DemoWeek(gateway: parts.gateway, keys: keys, end: end)
        try await parts.whileRecording { try await week.make(storeEndpoint: storeEndpoint) }
        try await past.leave()
    }
}

/// The parts of a gateway whose clock shows the past. It has no listener and calls no store.
private struct WeekParts {
    let gateway: WeekGateway
    private let ledger: PostgresLedger
    private let pool: PostgresPool
    private let background: PostgresConnection

    init(_ settings: Settings, clock: WeekClock, logger: Logger) throws {
        let now: @Sendable () -> Date = { clock.now }
        func configuration(_ more: [(name: String, value: String)]) throws -> PostgresConfiguration {
            try settings.database.configuration(
                "sluice-dev", sessionSettings: more + [("synchronous_commit", "off"), PastDatabase.searchPath])
        }
        let pool = PostgresPool(try configuration(PostgresAdminStores.sessionSettings), size: 3, logger: logger)
        let background = PostgresConnection(try configuration([]), logger: logger)
        let cache = PolicyCache(
            source: PostgresPolicySource(
                pool: PostgresPool(
                    try configuration(PostgresPolicySource.sessionSettings), size: 1, logger: logger),
                keys: settings.masterKeys, logger: logger))
        let denials = DenialCounter(connection: background, logger: logger, now: now)
        let refusals = PostgresRefusals(connection: background, pool: pool, logger: logger)
        let ledgerClock = LedgerClock(
            maxDifference: TimeInterval(settings.clockMaxDifference), logger: logger, now: now)
        ledger = try PostgresLedger(
            configuration: configuration([]), clock: ledgerClock, limits: .init(connections: 1), logger: logger)
        self.pool = pool
        self.background = background
        let store = WeekStore(now: now)
        let sweeper = ReservationSweeper(
            connection: background, verifier: store, clock: ledgerClock, schedule: .init(batch: 1_000), logger: logger)
        let authenticator = WeekAuthenticator(cache: cache)
        let dice = DemoWeek.dice()
        gateway = WeekGateway(
            clock: clock, store: store,
            stores: PostgresAdminStores(pool: pool, keys: settings.masterKeys, logger: logger, now: now)
                .all(
                    grantBulk: PostgresGrantBulk(
                        connections: BulkConnections(try configuration([]), limit: 1, logger: logger), logger: logger)),
            issuing: ProvenIssuing(
                cache: cache, authenticator: authenticator, ledger: ledger, denials: denials, now: now,
                randomBytes: { dice.bytes(count: $0) }),
            cache: cache,
            multipartRows: PostgresMultipartUploads(pool: pool, logger: logger, now: now),
            uploadRecords: PostgresUploads(pool: pool, ledgerPool: pool, logger: logger, now: now),
            remoteUploads: PostgresRemoteUploads(pool: pool, logger: logger),
            storeEvents: PostgresStoreEvents(pool: pool, lookUps: pool, logger: logger, now: now),
            authenticator: authenticator, refusals: refusals,
            writeRefusals: {
                await denials.flush()
                await refusals.flush()
            }, settle: { await sweeper.runRound() })
    }

    /// Lets the ledger record while a function runs, and closes the connections after it.
    func whileRecording(_ body: @escaping @Sendable () async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            let ledger = ledger
            group.addTask { await ledger.run() }
            do {
                try await body()
            } catch {
                group.cancelAll()
                throw error
            }
            group.cancelAll()
        }
        await pool.close()
        await background.close()
    }
}
