import GatewayAPI
import GatewayCloud
import GatewayCore
import GatewayPostgres
import PrometheusMetrics

extension APIParts {
    /// Passes the use cases to the API, with the readers that it needs in addition.
    init(
        _ parts: SharedParts, _ useCases: UseCases, _ draining: Draining, metrics: MetricsPage,
        requestLog: any RequestLog
    ) {
        let (cache, watch, policy) = (parts.cache, parts.watch, parts.policyListener)
        let (connections, now) = (parts.connections, parts.now)
        self.init(
            authenticator: parts.authenticator,
            advancePolicy: { () async throws(GatewayError) in try await cache.advance() },
            presignedURLs: useCases.presignedURLs, browserForms: useCases.browserForms,
            cdnCookies: useCases.cdnCookies, multipartUploads: useCases.multipartUploads,
            missingUploads: useCases.missingUploads, uploadConfirmation: useCases.uploadConfirmation,
            storeEvents: useCases.storeEvents,
            eventSecrets: useCases.eventSecrets, accessOverview: useCases.accessOverview,
            sessions: useCases.sessions, remoteSignatures: useCases.remoteSignatures,
            issuances: parts.issuances,
            reports: PostgresLedgerReports(pool: connections.ledgerPool, logger: parts.logger, now: now),
            accessReview: useCases.accessReview, explainer: useCases.explainer, simulator: useCases.simulator,
            stores: useCases.stores,
            idempotency: useCases.idempotency,
            bucketValidator: BucketProbe(
                client: parts.cloud, signer: parts.signer, maxClockDifference: parts.clock.maxDifference, now: now),
            issuerDocuments: IssuerProbe(client: parts.cloud),
            auditLog: PostgresAuditLog(pool: connections.adminPool, logger: parts.logger, now: now),
            readinessChecks: { watch.flaws().checks + [policy.readinessCheck, draining.check] },
            metricsText: { metrics.text() }, metrics: RequestMetrics(on: metrics), logger: parts.logger,
            requestLog: OutageRequestLog(requestLog, outage: connections.outage),
            refusals: parts.refusals,
            requestHistory: RequestHistory(
                refusals: parts.refusals, issuances: parts.issuances, audit: useCases.stores.audit),
            now: now, randomBytes: parts.random)
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
