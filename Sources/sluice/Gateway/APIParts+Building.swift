import FoundationEssentials
import GatewayAPI
import GatewayCloud
import GatewayCore
import GatewayPostgres
import PrometheusMetrics

extension APIParts {
    /// Builds the use cases, stores and readers of the API on the shared parts.
    init(
        _ settings: Settings, _ parts: SharedParts, _ draining: Draining, metrics: MetricsPage,
        requestLog: any RequestLog
    ) {
        let (connections, now, logger) = (parts.connections, parts.now, parts.logger)
        let (cache, watch, policy) = (parts.cache, parts.watch, parts.policyListener)
        let (issuing, signer, keyWatch) = (parts.issuing, parts.signer, parts.keyWatch)
        let stores = PostgresAdminStores(pool: connections.adminPool, keys: parts.masterKeys, logger: logger, now: now)
            .all(grantBulk: PostgresGrantBulk(connections: connections.bulk, logger: logger))
        let presignedURLs = PresignedURLs(issuing, signer: signer)
        let events = PostgresStoreEvents(
            pool: connections.adminPool, lookUps: connections.eventPool, logger: logger, now: now)
        self.init(
            authenticator: parts.authenticator,
            advancePolicy: { () async throws(GatewayError) in try await cache.advance() },
            presignedURLs: presignedURLs, browserForms: BrowserForms(issuing, signer: signer),
            cdnCookies: CDNCookies(issuing, signer: signer),
            multipartUploads: MultipartUploads(
                issuing, urls: presignedURLs, cache: cache,
                rows: PostgresMultipartUploads(pool: connections.queryPool, logger: logger, now: now),
                store: MultipartCalls(parts.storeCalls),
                life: .seconds(settings.multipartMaxAge), now: now),
            missingUploads: MissingUploads(
                issuing, urls: presignedURLs, cache: cache, objects: parts.stored,
                answerDeadline: .seconds(settings.http.answerDeadline), instant: { ContinuousClock.now }),
            uploadConfirmation: UploadConfirmation(
                records: PostgresUploads(
                    pool: connections.adminPool, ledgerPool: connections.ledgerPool, logger: logger, now: now),
                objects: parts.stored),
            storeEvents: Self.storeEvents(events, settings, parts),
            eventSecrets: EventSecrets(records: events, now: now, randomBytes: parts.random),
            accessOverview: AccessOverview(
                cache: cache, usage: PostgresQuotaUsage(pool: connections.queryPool)),
            sessions: Sessions(issuing, sessions: parts.sessions),
            remoteSignatures: RemoteSignatures(
                issuing, cache: cache,
                uploads: PostgresRemoteUploads(pool: connections.queryPool, logger: logger)),
            issuances: parts.issuances,
            reports: PostgresLedgerReports(pool: connections.ledgerPool, logger: logger, now: now),
            accessReview: AccessReview(
                cache: cache, rows: PostgresAccess(pool: connections.adminPool, logger: logger),
                usage: PostgresQuotaUsage(pool: connections.queryPool), now: now),
            explainer: Self.explainer(parts),
            simulator: Simulator(
                source: parts.source, ledger: parts.issuances, grants: stores.grants, now: now,
                instant: { ContinuousClock.now }),
            stores: stores,
            idempotency: parts.idempotency,
            bucketValidator: BucketProbe(
                client: parts.cloud, signer: signer, maxClockDifference: parts.clock.maxDifference, now: now),
            issuerDocuments: IssuerProbe(client: parts.cloud),
            auditLog: PostgresAuditLog(pool: connections.adminPool, logger: logger, now: now),
            readinessChecks: { watch.flaws().checks + [policy.readinessCheck, keyWatch.check, draining.check] },
            metricsText: { metrics.text() }, metrics: RequestMetrics(on: metrics), logger: logger,
            requestLog: OutageRequestLog(requestLog, outage: connections.outage),
            refusals: parts.refusals,
            requestHistory: RequestHistory(
                refusals: parts.refusals, issuances: parts.issuances, audit: stores.audit),
            now: now, randomBytes: parts.random)
    }

    private static func storeEvents(
        _ events: PostgresStoreEvents, _ settings: Settings, _ parts: SharedParts
    ) -> StoreEvents {
        let cache = parts.cache
        return StoreEvents(
            records: events, objects: parts.stored,
            keys: CallbackKeys(
                fetcher: KeySets(client: parts.cloud, logger: parts.logger), origins: settings.ossKeyOrigins,
                now: parts.now),
            isAtOSS: { name async throws(GatewayError) in
                try await cache.presentBucket(named: name)?.provider == .oss
            }, now: parts.now)
    }

    private static func explainer(_ parts: SharedParts) -> Explainer {
        Explainer(
            cache: parts.cache, usage: PostgresQuotaUsage(pool: parts.connections.queryPool),
            history: PostgresPolicyHistory(pool: parts.connections.ledgerPool, logger: parts.logger),
            issuances: parts.issuances, now: parts.now)
    }
}

extension SharedParts {
    /// Reads single issuances.
    fileprivate var issuances: PostgresIssuances {
        PostgresIssuances(pool: connections.ledgerPool, logger: logger, now: now)
    }
}

extension PolicyListener {
    /// The check of `/readyz`.
    fileprivate var readinessCheck: ReadinessCheck { ReadinessCheck(name: "policy", flaw: flaw) }
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
