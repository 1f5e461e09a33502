public import Foundation
public import GatewayCore
public import Logging
public import Metrics

/// What the API is made of: use cases, stores and the few functions that reach outside.
public struct APIParts: Sendable {
    /// Checks tokens.
    public var authenticator: any Authenticator
    /// Reads the changes of policy committed so far; asked before an admin is accepted.
    public var advancePolicy: @Sendable () async throws(GatewayError) -> Void
    /// Issues URLs.
    public var presignedURLs: PresignedURLs
    /// Uploads in parts.
    public var multipartUploads: MultipartUploads
    /// Asks stores which uploads arrived.
    public var uploadConfirmation: UploadConfirmation
    /// Takes events that stores send.
    public var storeEvents: StoreEvents
    /// The secrets that stores authenticate with.
    public var eventSecrets: EventSecrets
    /// Lists what callers may do.
    public var accessOverview: AccessOverview
    /// Issues temporary credentials.
    public var sessions: Sessions
    /// Signs requests that clients make themselves.
    public var remoteSignatures: RemoteSignatures
    /// Reads the ledger.
    public var issuances: any IssuanceReader
    /// Sums the ledger up.
    public var reports: any LedgerReports
    /// Explains decisions.
    public var explainer: Explainer
    /// Replays the ledger.
    public var simulator: Simulator
    /// Rows that admins manage.
    public var stores: AdminStores
    /// Remembers requests with idempotency keys.
    public var idempotency: any IdempotencyStore
    /// Validates buckets against their stores.
    public var bucketValidator: any BucketValidator
    /// Records what admins do besides changing rows.
    public var auditLog: any AuditLog
    /// What must hold for the gateway to be ready.
    public var readinessChecks: @Sendable () async -> [ReadinessCheck]
    /// The metrics page, in the text exposition format.
    public var metricsText: @Sendable () -> [UInt8]
    /// Makes the metrics of the API.
    public var metricsFactory: any MetricsFactory
    /// Takes all other messages for operators.
    public var logger: Logger
    /// Takes the line of each answered request.
    public var requestLog: any RequestLog
    /// The clock.
    public var now: @Sendable () -> Date
    /// Gives as many unpredictable bytes as asked for.
    public var randomBytes: @Sendable (Int) throws -> [UInt8]

    /// Puts the parts together.
    public init(
        authenticator: any Authenticator, advancePolicy: @escaping @Sendable () async throws(GatewayError) -> Void,
        presignedURLs: PresignedURLs, multipartUploads: MultipartUploads, uploadConfirmation: UploadConfirmation,
        storeEvents: StoreEvents, eventSecrets: EventSecrets, accessOverview: AccessOverview,
        sessions: Sessions, remoteSignatures: RemoteSignatures, issuances: any IssuanceReader,
        reports: any LedgerReports, explainer: Explainer, simulator: Simulator, stores: AdminStores,
        idempotency: any IdempotencyStore,
        bucketValidator: any BucketValidator, auditLog: any AuditLog,
        readinessChecks: @escaping @Sendable () async -> [ReadinessCheck],
        metricsText: @escaping @Sendable () -> [UInt8], metricsFactory: any MetricsFactory, logger: Logger,
        requestLog: any RequestLog,
        now: @escaping @Sendable () -> Date, randomBytes: @escaping @Sendable (Int) throws -> [UInt8]
    ) {
        self.authenticator = authenticator
        self.advancePolicy = advancePolicy
        self.presignedURLs = presignedURLs
        self.multipartUploads = multipartUploads
        self.uploadConfirmation = uploadConfirmation
        self.storeEvents = storeEvents
        self.eventSecrets = eventSecrets
        self.accessOverview = accessOverview
        self.sessions = sessions
        self.remoteSignatures = remoteSignatures
        self.issuances = issuances
        self.reports = reports
        self.explainer = explainer
        self.simulator = simulator
        self.stores = stores
        self.idempotency = idempotency
        self.bucketValidator = bucketValidator
        self.auditLog = auditLog
        self.readinessChecks = readinessChecks
        self.metricsText = metricsText
        self.metricsFactory = metricsFactory
        self.logger = logger
        self.requestLog = requestLog
        self.now = now
        self.randomBytes = randomBytes
    }
}
