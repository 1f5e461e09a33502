import EventLoops
import Foundation
import GatewayAPI
import GatewayCloud
import GatewayCore
import GatewayPostgres
import HTTPServing
import LibCrypto
import LibPQ
import Logging
import Metrics
import MicroHTTPD
import PrometheusMetrics
import ServiceLifecycle

/// A running gateway, put together from its settings: every part is made here and nowhere else.
struct Gateway {
    /// What runs, in the order of starting; a group stops it in reverse, the listeners first.
    let services: [any Service]
    /// Where the API listens.
    let server: HTTPServer
    /// The stores of rows, for whoever sets up rows of his own.
    let stores: AdminStores

    private static let now: @Sendable () -> Date = { Date.now }
    private static let randomPool = RandomPool()
    private static let random: @Sendable (Int) throws -> [UInt8] = { try randomPool.bytes(count: $0) }

    /// Checks the schema, builds the parts and binds the listeners.
    ///
    /// - Throws: ``Migrator/Failure`` where the database was not migrated, ``SettingMistakes`` where its secrets were sealed
    ///   with another master key, `PostgresError` where it cannot be reached,
    ///   `HTTPServerError` where an address is taken.
    init(
        _ settings: Settings, metrics: PrometheusFactory, logger: Logger, requestLog: any RequestLog
    ) async throws {
        let database = try DatabaseParts(settings, logger: logger)
        try await database.check(masterKeys: settings.masterKeys, logger: logger)

        let schema = SchemaFit(outage: database.outage, logger: logger)
        let source = PostgresPolicySource(
            pool: database.policyPool, keys: settings.masterKeys, schema: schema, logger: logger)
        let cache = PolicyCache(source: source)
        let cloud = OutboundClient(policy: settings.outbound)
        let authenticator = Self.authenticator(settings, cache: cache, cloud: cloud, logger: logger)
        let denials = DenialCounter(connection: database.background, logger: logger)
        let loops = try (0..<settings.http.threads).map { _ in try EventLoop() }
        let clock = LedgerClock(
            maxDifference: TimeInterval(settings.clockMaxDifference), logger: logger, now: Self.now)
        let ledger = try PostgresLedger(
            configuration: database.configuration, clock: clock, denials: denials,
            limits: .init(connections: settings.database.ledgerConnections), schema: schema, loops: loops,
            logger: logger)
        let stores = AdminStores(
            PostgresAdminStores(pool: database.adminPool, keys: settings.masterKeys, logger: logger, now: Self.now),
            PostgresGrantBulk(connections: database.bulk, logger: logger))
        let watch = LedgerWatch(
            ledger: ledger, schema: schema, outage: database.outage,
            maxClockDifference: TimeInterval(settings.clockMaxDifference), now: Self.now)
        let urls = PresignedURLs(
            cache: cache, authenticator: authenticator, ledger: ledger, now: Self.now, randomBytes: Self.random)
        let multipart = MultipartUploads(
            urls: urls, rows: PostgresMultipartUploads(connection: database.queries, now: Self.now),
            store: MultipartCalls(client: cloud, cache: cache, now: Self.now),
            life: .seconds(settings.multipartMaxAge), now: Self.now)
        let stored = StoredUploads(client: cloud, cache: cache, now: Self.now)
        let events = PostgresStoreEvents(
            pool: database.adminPool, lookUps: database.eventPool, logger: logger, now: Self.now)
        let idempotency = PostgresIdempotency(
            pool: database.idempotencyPool, keys: settings.masterKeys, ledger: ledger, clock: clock, logger: logger,
            now: Self.now)
        let parts = APIParts(
            authenticator: authenticator,
            advancePolicy: { () async throws(GatewayError) in try await cache.advance() },
            presignedURLs: urls, multipartUploads: multipart,
            uploadConfirmation: UploadConfirmation(
                records: PostgresUploads(
                    pool: database.adminPool, ledgerPool: database.ledgerPool, logger: logger, now: Self.now),
                objects: stored),
            storeEvents: StoreEvents(
                records: events, objects: stored,
                keys: CallbackKeys(
                    fetcher: KeySets(client: cloud, logger: logger), origins: settings.ossKeyOrigins, now: Self.now),
                isAtOSS: { name async throws(GatewayError) in
                    try await cache.location(of: name)?.bucket.provider == .oss
                }, now: Self.now),
            eventSecrets: EventSecrets(records: events, now: Self.now, randomBytes: Self.random),
            accessOverview: AccessOverview(
                cache: cache, usage: PostgresQuotaUsage(connection: database.queries)),
            sessions: Sessions(
                cache: cache, authenticator: authenticator, ledger: ledger,
                sessions: SessionCache(
                    opener: SecurityTokenService(
                        client: cloud, logger: logger, now: Self.now, randomBytes: Self.random),
                    limits: .init(maxPerSecond: settings.sessionsPerSecond), now: Self.now),
                now: Self.now, randomBytes: Self.random),
            remoteSignatures: RemoteSignatures(
                cache: cache, authenticator: authenticator, ledger: ledger,
                uploads: PostgresRemoteUploads(pool: database.adminPool, logger: logger), now: Self.now,
                randomBytes: Self.random),
            issuances: PostgresIssuances(pool: database.ledgerPool, logger: logger, now: Self.now),
            reports: PostgresLedgerReports(pool: database.ledgerPool, logger: logger, now: Self.now),
            explainer: Explainer(
                cache: cache, usage: PostgresQuotaUsage(connection: database.queries),
                history: PostgresPolicyHistory(pool: database.ledgerPool, logger: logger),
                issuances: PostgresIssuances(pool: database.ledgerPool, logger: logger, now: Self.now),
                now: Self.now),
            simulator: Simulator(
                source: source,
                ledger: PostgresIssuances(pool: database.ledgerPool, logger: logger, now: Self.now),
                grants: stores.grants, now: Self.now),
            stores: stores,
            idempotency: idempotency,
            bucketValidator: BucketProbe(client: cloud, now: Self.now),
            auditLog: PostgresAuditLog(pool: database.adminPool, logger: logger, now: Self.now),
            readinessChecks: { watch.flaws().checks },
            metricsText: { metrics.text() }, metricsFactory: metrics, logger: logger,
            requestLog: OutageRequestLog(requestLog, outage: database.outage),
            now: Self.now, randomBytes: Self.random)

        let servers = try Self.servers(settings, parts, loops: loops, logger: logger)
        server = servers[0]
        self.stores = stores
        services =
            [
                database.policyPool, database.adminPool, database.ledgerPool, database.eventPool,
                database.idempotencyPool, ledger, watch, denials,
                Heartbeat(
                    connection: database.heartbeat,
                    identity: .init(
                        id: .version7(at: Self.now(), randomBytes: try Self.random(10)), version: Sluice.version,
                        startedAt: Self.now(), masterKeyIDs: settings.masterKeys.identifiers),
                    logger: logger, now: Self.now, position: { cache.position }),
                PolicyListener(configuration: database.configuration, logger: logger) {
                    // A failure is told by the next request that needs the log.
                    try? await cache.advance()
                },
                PartitionUpkeep(
                    connection: database.background,
                    schedule: .init(daysAhead: settings.ledgerDaysAhead, keepDays: settings.ledgerKeepDays),
                    logger: logger),
                UsageUpkeep(connection: database.background, logger: logger),
                idempotency,
                ReservationSweeper(
                    connection: database.background,
                    verifier: stored, clock: clock,
                    logger: logger),
                MultipartUpkeep(connection: database.background, clock: clock, logger: logger) {
                    upload async throws(GatewayError) in try await multipart.clean(upload)
                },
            ] + servers
    }

    private static func authenticator(
        _ settings: Settings, cache: PolicyCache, cloud: OutboundClient, logger: Logger
    ) -> any Authenticator {
        let tokens = TokenAuthenticator(
            cache: cache, fetcher: KeySets(client: cloud, logger: logger), now: now, logger: logger)
        guard let key = settings.bootstrapAdminKey else { return tokens }
        return BootstrapAuthenticator(key: key, cache: cache, before: tokens)
    }

    /// The listeners; apps are served by the loops given.
    private static func servers(
        _ settings: Settings, _ parts: APIParts, loops: [EventLoop], logger: Logger
    ) throws -> [HTTPServer] {
        let bodyMemory = BodyMemory(limit: settings.http.maxBodyMemory << 20)
        let api = APISettings(
            allowedOrigins: settings.allowedOrigins, trustedProxies: settings.trustedProxies,
            requestsPerSecond: settings.requestsPerSecond > 0 ? settings.requestsPerSecond : nil,
            ticketMaxAge: settings.ticketsMaxAge)
        func server(
            _ address: ListenAddress, _ listener: APIResponder.Listener, _ name: String, loops: [EventLoop] = []
        ) throws -> HTTPServer {
            var logger = logger
            logger[metadataKey: "listener"] = "\(name)"
            var configuration = settings.http.configuration(for: address, tls: settings.tls)
            configuration.bodyMemory = bodyMemory
            // Each connection to PostgreSQL has a socket and a descriptor to wake its waiter by, and one more to cancel with.
            configuration.reservedDescriptors += 3 * settings.database.connectionCount + OutboundClient.maxDescriptors
            return try HTTPServer(
                configuration: configuration,
                responder: APIResponder(parts, api, on: listener), logger: logger, loops: loops)
        }
        guard let adminListen = settings.adminListen else {
            return [try server(settings.listen, .everything, "api", loops: loops)]
        }
        return [try server(settings.listen, .app, "api", loops: loops), try server(adminListen, .inner, "admin")]
    }
}

/// The connections of a gateway. What admins do waits for locks, so that it must not take the connections that read policy.
private struct DatabaseParts {
    let configuration: PostgresConfiguration
    let policyPool: PostgresPool
    let adminPool: PostgresPool
    /// Apart from the connections of the ledger, each of which records many requests at once: with a key a request is recorded
    /// on its own.
    let idempotencyPool: PostgresPool
    /// Apart, since questions about the ledger may take seconds.
    let ledgerPool: PostgresPool
    /// Apart, since who asks is nobody yet.
    let eventPool: PostgresPool
    let bulk: BulkConnections
    let background: PostgresConnection
    let queries: PostgresConnection
    let heartbeat: PostgresConnection
    /// Those of all connections.
    let outage: Outage

    init(_ settings: Settings, logger: Logger) throws {
        let outage = Outage(logger: logger)
        self.outage = outage
        func configuration(_ sessionSettings: [(name: String, value: String)]) throws -> PostgresConfiguration {
            var configuration = try settings.database.configuration("sluice", sessionSettings: sessionSettings)
            configuration.outage = outage
            return configuration
        }
        let plain = try configuration([
            ("synchronous_commit", "on"), ("statement_timeout", "30s"), ("lock_timeout", "2s"),
            ("idle_in_transaction_session_timeout", "1s"),
        ])
        self.configuration = plain
        policyPool = PostgresPool(
            try configuration(PostgresPolicySource.sessionSettings), size: settings.database.poolConnections,
            logger: logger)
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
        queries = PostgresConnection(plain, logger: logger)
        heartbeat = PostgresConnection(try configuration(Heartbeat.sessionSettings), logger: logger)
    }

    /// Checks the schema and the master keys; a server that cannot be reached is given some time, since both may be starting.
    func check(masterKeys: MasterKeyRing, logger: Logger) async throws {
        let connection = PostgresConnection(configuration, logger: logger)
        let migrator = Migrator(connection: connection, logger: logger)
        let deadline = ContinuousClock.now + Self.patience
        while true {
            do {
                try await migrator.check()
                let flaws = try await MasterKeyCheck(connection: connection, keys: masterKeys).run()
                guard flaws.isEmpty else { throw SettingMistakes(masterKeys: flaws) }
                return await connection.close()
            } catch let error as PostgresError {
                guard error.isPassing, ContinuousClock.now < deadline else { throw error }
                try await Task.sleep(for: .milliseconds(250))
            }
        }
    }

    private static let patience = Duration.seconds(30)
}

extension PostgresError {
    /// Whether the server may answer the same question later: it could not be reached, or is starting or stopping.
    fileprivate var isPassing: Bool {
        switch self {
        case .unavailable, .connectionLost: true
        case .server(let error): error.sqlState.hasPrefix("57P")
        default: false
        }
    }
}

extension AdminStores {
    /// The stores in PostgreSQL.
    fileprivate init(_ stores: PostgresAdminStores, _ grantBulk: any GrantBulkStore) {
        self.init(
            buckets: stores.buckets, credentials: stores.credentials, grants: stores.grants, grantBulk: grantBulk,
            members: stores.members, quotas: stores.quotas, issuers: stores.issuers, apiKeys: stores.apiKeys,
            tickets: stores.tickets, ticketRevocation: stores.tickets,
            groups: stores.groups, quotaUses: stores.quotaUses, dependency: stores.dependency,
            gateways: stores.gateways, audit: stores.audit)
    }
}

extension LedgerWatch.Flaws {
    /// The checks of `/readyz`.
    fileprivate var checks: [ReadinessCheck] {
        [
            ReadinessCheck(name: "recordings", flaw: recordings), ReadinessCheck(name: "clock", flaw: clock),
            ReadinessCheck(name: "schema", flaw: schema),
        ]
    }
}

extension Settings.HTTP {
    /// The configuration of a listener.
    func configuration(for address: ListenAddress, tls: HTTPServerConfiguration.TLS?) -> HTTPServerConfiguration {
        var configuration = HTTPServerConfiguration(address: address.host, port: address.port, tls: tls)
        configuration.threads = threads
        configuration.maxConnections = maxConnections
        configuration.maxConnectionsPerAddress = maxConnectionsPerAddress
        configuration.maxRequestsInFlight = maxRequestsInFlight
        configuration.idleTimeout = .seconds(idleTimeout)
        configuration.requestTimeout = .seconds(requestTimeout)
        configuration.answerDeadline = .seconds(answerDeadline)
        configuration.drainDeadline = .seconds(drainDeadline)
        return configuration
    }
}
