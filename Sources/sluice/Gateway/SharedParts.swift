import EventLoops
import Figures
import FoundationEssentials
import GatewayAPI
import GatewayCloud
import GatewayCore
import GatewayPostgres
import LibCrypto
import LibPQ
import Logging

/// The parts that several use cases or services need: time, random bytes, the policy and sessions in memory, the
/// ledger, the proof loop and outbound calls.
struct SharedParts {
    let connections: DatabaseConnections
    let masterKeys: MasterKeyRing
    let logger: Logger
    let now: @Sendable () -> Date
    let random: @Sendable (Int) throws -> [UInt8]
    /// Reads the policy in PostgreSQL.
    let source: PostgresPolicySource
    /// Holds the policy in memory.
    let cache: PolicyCache
    /// Has policy read when it changes, and tells `/readyz` where it cannot be read.
    let policyListener: PolicyListener
    /// Tells the other gateways and the admins that this gateway runs.
    let heartbeat: Heartbeat
    /// Tells `/readyz` whether the master keys still fit.
    let keyWatch: MasterKeyWatch
    /// Calls other servers.
    let cloud: OutboundClient
    /// Holds sessions in memory.
    let sessions: SessionCache
    let authenticator: any Authenticator
    /// Counts refusals.
    let denials: DenialCounter
    /// Keeps single refusals.
    let refusals: PostgresRefusals
    /// The event loops, one thread each, that serve apps and record for them.
    let loops: [EventLoop]
    /// Compares the gateway's clock with PostgreSQL's.
    let clock: LedgerClock
    let ledger: PostgresLedger
    /// Tells `/readyz` whether issuances can be recorded.
    let watch: LedgerWatch
    /// Reads what metrics show of the database.
    let figures: DatabaseFigures
    /// Signs for all uses, so that each signing key is derived and kept once.
    let signer: URLSigner
    /// Asks stores.
    let storeCalls: StoreCalls
    /// Looks at the objects that clients uploaded.
    let stored: StoredUploads
    /// The loop that proves everything that is issued.
    let issuing: ProvenIssuing
    let idempotency: PostgresIdempotency

    /// Builds the parts.
    ///
    /// - Throws: An error of the system, for example if there are too few descriptors for the loops, or no random
    ///   bytes.
    init(_ settings: Settings, connections: DatabaseConnections, logger: Logger) throws {
        let now: @Sendable () -> Date = { Date.now }
        let pool = RandomPool()
        self.connections = connections
        masterKeys = settings.masterKeys
        self.logger = logger
        self.now = now
        random = { try pool.bytes(count: $0) }

        let schema = SchemaFit(outage: connections.outage, logger: logger)
        let setbacks = connections.setbacks
        source = PostgresPolicySource(
            pool: connections.policyPool, areaPool: connections.areaPool, keys: settings.masterKeys, schema: schema,
            onSetback: { setbacks.add() }, logger: logger)
        cache = PolicyCache(source: source)
        connections.primary.onChange { [weak cache = cache] in cache?.beginHistory() }
        policyListener = PolicyListener(
            configuration: connections.configuration, schema: schema, logger: logger,
            servesSome: { [cache] in cache.holdsAnyone }
        ) { [cache] in try await cache.advanceWithAnyone() }
        let id = UUID.version7(at: now(), randomBytes: try pool.bytes(count: 10))
        keyWatch = MasterKeyWatch(masterKeys, of: id, over: connections.heartbeat, logger: logger)
        heartbeat = Heartbeat(
            connection: connections.heartbeat,
            identity: .init(
                id: id, version: ProgramVersion.current, startedAt: now(),
                masterKeys: { [masterKeys] in masterKeys.announcement }),
            logger: logger, now: now, position: { [cache] in cache.position },
            keysFit: { [keyWatch] in await keyWatch.look() })
        cloud = OutboundClient(policy: settings.outbound)
        sessions = SessionCache(
            opener: SecurityTokenService(client: cloud, logger: logger, now: now, randomBytes: random),
            limits: .init(maxPerSecond: settings.sessionsPerSecond), now: now)
        authenticator = Self.authenticator(settings, cache: cache, cloud: cloud, logger: logger, now: now)
        denials = DenialCounter(connection: connections.background, logger: logger, now: now)
        refusals = PostgresRefusals(
            connection: connections.background, pool: connections.ledgerPool, logger: logger)
        loops = try (0..<settings.http.threads).map { _ in try EventLoop() }
        clock = LedgerClock(
            maxDifference: TimeInterval(settings.clockMaxDifference), logger: logger, now: now)
        ledger = try PostgresLedger(
            configuration: connections.configuration, clock: clock,
            limits: .init(connections: settings.database.ledgerConnections), schema: schema, loops: loops,
            logger: logger)
        watch = LedgerWatch(
            ledger: ledger, schema: schema, outage: connections.outage,
            maxClockDifference: TimeInterval(settings.clockMaxDifference), logger: logger, now: now)
        figures = DatabaseFigures(
            pool: connections.ledgerPool, version: ProgramVersion.current, keepDays: settings.ledgerKeepDays,
            logger: logger, now: now,
            policySequence: { [cache] in cache.position?.sequence })
        signer = URLSigner()
        storeCalls = StoreCalls(client: cloud, cache: cache, signer: signer, now: now)
        stored = StoredUploads(storeCalls)
        issuing = ProvenIssuing(
            cache: cache, authenticator: authenticator, ledger: ledger, denials: denials, now: now,
            randomBytes: random)
        idempotency = PostgresIdempotency(
            pool: connections.idempotencyPool, keys: masterKeys, clock: clock, logger: logger, now: now,
            recordingFailed: { [ledger] in ledger.doubt(after: $0) })
    }

    private static func authenticator(
        _ settings: Settings, cache: PolicyCache, cloud: OutboundClient, logger: Logger,
        now: @escaping @Sendable () -> Date
    ) -> any Authenticator {
        let tokens = TokenAuthenticator(
            cache: cache, fetcher: KeySets(client: cloud, logger: logger), now: now, logger: logger)
        guard let key = settings.bootstrapAdminKey else { return tokens }
        return BootstrapAuthenticator(key: key, cache: cache, before: tokens)
    }
}
