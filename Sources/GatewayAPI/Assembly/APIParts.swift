public import FoundationEssentials
public import GatewayCore
public import Logging

/// The use cases, stores and functions of which the API is made.
public struct APIParts: Sendable {
    /// Turns tokens into callers.
    public var authenticator: any Authenticator
    /// Reads the policy changes committed so far. It runs before an admin or auditor is accepted.
    public var advancePolicy: @Sendable () async throws(GatewayError) -> Void
    /// Issues presigned URLs.
    public var presignedURLs: PresignedURLs
    /// Issues browser forms.
    public var browserForms: BrowserForms
    /// Issues cookies of content delivery networks.
    public var cdnCookies: CDNCookies
    /// Manages multipart uploads.
    public var multipartUploads: MultipartUploads
    /// Issues links for objects that are not at the store yet.
    public var missingUploads: MissingUploads
    /// Asks a store whether an upload arrived.
    public var uploadConfirmation: UploadConfirmation
    /// Records the events that stores send.
    public var storeEvents: StoreEvents
    /// Manages the secrets with which stores authenticate.
    public var eventSecrets: EventSecrets
    /// Lists a caller's own grants and quotas.
    public var accessOverview: AccessOverview
    /// Issues temporary credentials.
    public var sessions: Sessions
    /// Signs requests that clients build themselves.
    public var remoteSignatures: RemoteSignatures
    /// Reads rows of the ledger.
    public var issuances: any IssuanceReader
    /// Sums up the ledger.
    public var reports: any LedgerReports
    /// Answers who may do what.
    public var accessReview: AccessReview
    /// Explains why a request is allowed or refused.
    public var explainer: Explainer
    /// Replays the ledger under a proposed change.
    public var simulator: Simulator
    /// Holds the stores of the rows that admins manage.
    public var stores: AdminStores
    /// Remembers requests that carry an idempotency key.
    public var idempotency: any IdempotencyStore
    /// Checks a bucket's settings against its store.
    public var bucketValidator: any BucketValidator
    /// Requests documents of issuers that admins check.
    public var issuerDocuments: any IssuerDocuments
    /// Records admin acts that change no row.
    public var auditLog: any AuditLog
    /// Returns the state of each thing that the gateway needs in order to be ready.
    public var readinessChecks: @Sendable () async -> [ReadinessCheck]
    /// Returns the metrics page in the text exposition format.
    public var metricsText: @Sendable () -> [UInt8]
    /// The metrics of requests, which all listeners share.
    public var metrics: RequestMetrics
    /// Receives all messages for operators except the request lines.
    public var logger: Logger
    /// Receives one line for each answered request.
    public var requestLog: any RequestLog
    /// Keeps refusals for admins to look up.
    public var refusals: any RefusalJournal
    /// Finds what a request did, or why it was refused.
    public var requestHistory: RequestHistory
    /// Returns the current time.
    public var now: @Sendable () -> Date
    /// Returns the given number of unpredictable bytes.
    public var randomBytes: @Sendable (Int) throws -> [UInt8]

    /// Puts the parts together.
    public init(
        authenticator: any Authenticator, advancePolicy: @escaping @Sendable () async throws(GatewayError) -> Void,
        presignedURLs: PresignedURLs, browserForms: BrowserForms, cdnCookies: CDNCookies,
        multipartUploads: MultipartUploads, missingUploads: MissingUploads, uploadConfirmation: UploadConfirmation,
        storeEvents: StoreEvents, eventSecrets: EventSecrets, accessOverview: AccessOverview,
        sessions: Sessions, remoteSignatures: RemoteSignatures, issuances: any IssuanceReader,
        reports: any LedgerReports, accessReview: AccessReview, explainer: Explainer, simulator: Simulator,
        stores: AdminStores,
        idempotency: any IdempotencyStore,
        bucketValidator: any BucketValidator, issuerDocuments: any IssuerDocuments, auditLog: any AuditLog,
        readinessChecks: @escaping @Sendable () async -> [ReadinessCheck],
        metricsText: @escaping @Sendable () -> [UInt8], metrics: RequestMetrics, logger: Logger,
        requestLog: any RequestLog, refusals: any RefusalJournal, requestHistory: RequestHistory,
        now: @escaping @Sendable () -> Date, randomBytes: @escaping @Sendable (Int) throws -> [UInt8]
    ) {
        self.authenticator = authenticator
        self.advancePolicy = advancePolicy
        self.presignedURLs = presignedURLs
        self.browserForms = browserForms
        self.cdnCookies = cdnCookies
        self.multipartUploads = multipartUploads
        self.missingUploads = missingUploads
        self.uploadConfirmation = uploadConfirmation
        self.storeEvents = storeEvents
        self.eventSecrets = eventSecrets
        self.accessOverview = accessOverview
        self.sessions = sessions
        self.remoteSignatures = remoteSignatures
        self.issuances = issuances
        self.reports = reports
        self.accessReview = accessReview
        self.explainer = explainer
        self.simulator = simulator
        self.stores = stores
        self.idempotency = idempotency
        self.bucketValidator = bucketValidator
        self.issuerDocuments = issuerDocuments
        self.auditLog = auditLog
        self.readinessChecks = readinessChecks
        self.metricsText = metricsText
        self.metrics = metrics
        self.logger = logger
        self.requestLog = requestLog
        self.refusals = refusals
        self.requestHistory = requestHistory
        self.now = now
        self.randomBytes = randomBytes
    }
}
