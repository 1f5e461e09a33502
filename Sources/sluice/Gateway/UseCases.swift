import FoundationEssentials
import GatewayCloud
import GatewayCore
import GatewayPostgres

/// The use cases of a gateway, for apps, stores and admins.
struct UseCases {
    /// The stores of the rows that admins manage.
    let stores: AdminStores
    let presignedURLs: PresignedURLs
    let browserForms: BrowserForms
    let cdnCookies: CDNCookies
    let multipartUploads: MultipartUploads
    let missingUploads: MissingUploads
    let uploadConfirmation: UploadConfirmation
    let storeEvents: StoreEvents
    let eventSecrets: EventSecrets
    let accessOverview: AccessOverview
    let sessions: Sessions
    let remoteSignatures: RemoteSignatures
    let accessReview: AccessReview
    let explainer: Explainer
    let simulator: Simulator
    let idempotency: PostgresIdempotency
    /// Counts what was issued.
    let issued: IssuanceCounts

    /// Builds the use cases on the shared parts.
    init(_ settings: Settings, _ parts: SharedParts) {
        let (connections, now, logger) = (parts.connections, parts.now, parts.logger)
        stores = PostgresAdminStores(pool: connections.adminPool, keys: parts.masterKeys, logger: logger, now: now)
            .all(grantBulk: PostgresGrantBulk(connections: connections.bulk, logger: logger))
        let issuing = ProvenIssuing(
            cache: parts.cache, authenticator: parts.authenticator, ledger: parts.ledger, denials: parts.denials,
            now: now, randomBytes: parts.random)
        issued = issuing.issued
        let signer = parts.signer
        presignedURLs = PresignedURLs(issuing, signer: signer)
        browserForms = BrowserForms(issuing, signer: signer)
        cdnCookies = CDNCookies(issuing, signer: signer)
        multipartUploads = MultipartUploads(
            issuing, urls: presignedURLs, cache: parts.cache,
            rows: PostgresMultipartUploads(pool: connections.queryPool, logger: logger, now: now),
            store: MultipartCalls(parts.storeCalls),
            life: .seconds(settings.multipartMaxAge), now: now)
        missingUploads = MissingUploads(
            issuing, urls: presignedURLs, cache: parts.cache, objects: parts.stored,
            answerDeadline: .seconds(settings.http.answerDeadline), instant: { ContinuousClock.now })
        uploadConfirmation = UploadConfirmation(
            records: PostgresUploads(
                pool: connections.adminPool, ledgerPool: connections.ledgerPool, logger: logger, now: now),
            objects: parts.stored)
        let events = PostgresStoreEvents(
            pool: connections.adminPool, lookUps: connections.eventPool, logger: logger, now: now)
        storeEvents = Self.storeEvents(events, settings, parts)
        eventSecrets = EventSecrets(records: events, now: now, randomBytes: parts.random)
        accessOverview = AccessOverview(
            cache: parts.cache, usage: PostgresQuotaUsage(pool: connections.queryPool))
        sessions = Sessions(issuing, sessions: parts.sessions)
        remoteSignatures = RemoteSignatures(
            issuing, cache: parts.cache,
            uploads: PostgresRemoteUploads(pool: connections.adminPool, logger: logger))
        accessReview = AccessReview(
            cache: parts.cache, rows: PostgresAccess(pool: connections.adminPool, logger: logger),
            usage: PostgresQuotaUsage(pool: connections.queryPool), now: now)
        explainer = Self.explainer(parts)
        simulator = Simulator(
            source: parts.source, ledger: parts.issuances, grants: stores.grants, now: now,
            instant: { ContinuousClock.now })
        idempotency = PostgresIdempotency(
            pool: connections.idempotencyPool, keys: parts.masterKeys, clock: parts.clock, logger: logger,
            now: now, recordingFailed: { [ledger = parts.ledger] in ledger.doubt(after: $0) })
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
    var issuances: PostgresIssuances {
        PostgresIssuances(pool: connections.ledgerPool, logger: logger, now: now)
    }
}
