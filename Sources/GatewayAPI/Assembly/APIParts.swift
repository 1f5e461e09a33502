public import Foundation
public import GatewayCore
import HTTPServing
public import Logging
public import Metrics

/// What the operator decides about the API.
public struct APISettings: Sendable {
    /// Origins whose pages may call the routes for app users: `scheme://host[:port]`, or `*` for any.
    public var allowedOrigins: Set<String>
    /// Proxies that tell where requests come from.
    public var trustedProxies: TrustedProxies
    /// How long a request may wait to be recorded.
    public var recordTimeout: Duration
    /// How long the opening of a session may take besides.
    public var sessionTimeout: Duration
    /// Requests of one principal in a second, 1 to 1,000,000, of which twice as many may come at once; without limit where `nil`.
    public var requestsPerSecond: Int?
    /// Longest life of a ticket that is made, in seconds.
    public var ticketMaxAge: Int

    /// No origin and no proxy unless given.
    public init(
        allowedOrigins: Set<String> = [], trustedProxies: TrustedProxies = TrustedProxies(),
        recordTimeout: Duration = .seconds(5), sessionTimeout: Duration = .seconds(9),
        requestsPerSecond: Int? = nil, ticketMaxAge: Int = Ticket.maxLife
    ) {
        self.allowedOrigins = allowedOrigins
        self.trustedProxies = trustedProxies
        self.recordTimeout = recordTimeout
        self.sessionTimeout = sessionTimeout
        self.requestsPerSecond = requestsPerSecond
        self.ticketMaxAge = ticketMaxAge
    }
}

/// The stores of rows that admins manage.
public struct AdminStores: Sendable {
    /// Buckets.
    public let buckets: any AdminStore<Bucket>
    /// Storage credentials.
    public let credentials: any AdminStore<StorageCredential>
    /// Grants.
    public let grants: any AdminStore<Grant>
    /// Many grants at once.
    public let grantBulk: any GrantBulkStore
    /// Members of groups.
    public let members: any AdminStore<GroupMember>
    /// Quotas.
    public let quotas: any AdminStore<Quota>
    /// Issuers of JWTs.
    public let issuers: any AdminStore<Issuer>
    /// API keys.
    public let apiKeys: any AdminStore<APIKey>
    /// Tickets, which users make themselves.
    public let tickets: any AdminStore<Ticket>
    /// The end of all tickets of a principal.
    public let ticketRevocation: any TicketRevocation
    /// Groups that have members or grants.
    public let groups: any GroupDirectory
    /// The use of quotas.
    public let quotaUses: any QuotaUses
    /// What depends on storage credentials.
    public let dependency: any CredentialDependency
    /// Gateways that made themselves known.
    public let gateways: any GatewayDirectory
    /// The audit.
    public let audit: any AuditReader

    /// Lists the stores.
    public init(
        buckets: any AdminStore<Bucket>, credentials: any AdminStore<StorageCredential>,
        grants: any AdminStore<Grant>, grantBulk: any GrantBulkStore, members: any AdminStore<GroupMember>,
        quotas: any AdminStore<Quota>, issuers: any AdminStore<Issuer>, apiKeys: any AdminStore<APIKey>,
        tickets: any AdminStore<Ticket>, ticketRevocation: any TicketRevocation, groups: any GroupDirectory,
        quotaUses: any QuotaUses, dependency: any CredentialDependency, gateways: any GatewayDirectory,
        audit: any AuditReader
    ) {
        self.buckets = buckets
        self.credentials = credentials
        self.grants = grants
        self.grantBulk = grantBulk
        self.members = members
        self.quotas = quotas
        self.issuers = issuers
        self.apiKeys = apiKeys
        self.tickets = tickets
        self.ticketRevocation = ticketRevocation
        self.groups = groups
        self.quotaUses = quotaUses
        self.dependency = dependency
        self.gateways = gateways
        self.audit = audit
    }
}

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
    /// Finds out what became of uploads.
    public var uploadConfirmation: UploadConfirmation
    /// Takes what stores tell of uploads.
    public var storeEvents: StoreEvents
    /// The secrets that stores authenticate with.
    public var eventSecrets: EventSecrets
    /// Tells callers what they may do.
    public var accessOverview: AccessOverview
    /// Issues temporary credentials.
    public var sessions: Sessions
    /// Signs requests that clients make themselves.
    public var remoteSignatures: RemoteSignatures
    /// Reads the ledger.
    public var issuances: any IssuanceReader
    /// Adds the ledger up.
    public var reports: any LedgerReports
    /// Explains decisions.
    public var explainer: Explainer
    /// Replays the ledger.
    public var simulator: Simulator
    /// Rows that admins manage.
    public var stores: AdminStores
    /// Remembers requests with idempotency keys.
    public var idempotency: any IdempotencyStore
    /// Tries buckets out at their stores.
    public var bucketValidator: any BucketValidator
    /// Remembers what admins did besides changing rows.
    public var auditLog: any AuditLog
    /// What must hold for the gateway to be ready.
    public var readinessChecks: @Sendable () async -> [ReadinessCheck]
    /// The metrics page, in the text exposition format.
    public var metricsText: @Sendable () -> [UInt8]
    /// Where the API's own figures go.
    public var metricsFactory: any MetricsFactory
    /// Where everything else goes that operators are to know.
    public var logger: Logger
    /// Where the line of each answered request goes.
    public var requestLog: any RequestLog
    /// The clock.
    public var now: @Sendable () -> Date
    /// As many bytes as asked for that nobody can predict.
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

extension Routes {
    /// Wires the endpoints.
    init(_ parts: APIParts, _ settings: APISettings, _ metrics: RequestMetrics, _ rate: RequestRate?) {
        let newRow: @Sendable (Caller) throws -> NewRow = { caller in
            let now = parts.now()
            let id = UUID.version7(at: now, randomBytes: try parts.randomBytes(10))
            return NewRow(id: id, now: now, caller: caller)
        }
        let stores = parts.stores
        urls = PresignedURLEndpoints(
            useCase: parts.presignedURLs, metrics: metrics, timeout: settings.recordTimeout, rate: rate)
        multipart = MultipartUploadEndpoints(
            useCase: parts.multipartUploads, metrics: metrics, timeout: settings.recordTimeout, rate: rate)
        uploads = UploadEndpoints(useCase: parts.uploadConfirmation)
        events = StoreEventEndpoints(useCase: parts.storeEvents, metrics: metrics)
        access = AccessEndpoints(useCase: parts.accessOverview)
        signatures = SignatureEndpoints(
            useCase: parts.remoteSignatures, metrics: metrics, timeout: settings.recordTimeout)
        sessions = SessionEndpoints(
            useCase: parts.sessions, metrics: metrics, timeout: settings.recordTimeout + settings.sessionTimeout)
        ledger = LedgerEndpoints(reader: parts.issuances, reports: parts.reports)
        explanations = ExplainEndpoints(useCase: parts.explainer, now: parts.now)
        simulations = SimulateEndpoints(useCase: parts.simulator, newRow: newRow)
        tickets = TicketEndpoints(
            rows: AdminEndpoints(store: stores.tickets, newRow: newRow), revocation: stores.ticketRevocation,
            maxAge: settings.ticketMaxAge,
            revocations: RequestRate("revocations", perSecond: 1, burst: 20, from: .now),
            randomBytes: parts.randomBytes)
        admin = AdminRoutes(
            validation: BucketValidationEndpoints(
                buckets: stores.buckets, credentials: stores.credentials, validator: parts.bucketValidator,
                audit: parts.auditLog, randomBytes: parts.randomBytes),
            eventSecrets: EventSecretEndpoints(useCase: parts.eventSecrets),
            buckets: AdminEndpoints(
                store: stores.buckets, newRow: newRow,
                confirm: EndpointChange(credentials: stores.credentials, dependency: stores.dependency).confirm),
            credentials: CredentialEndpoints(
                rows: AdminEndpoints(store: stores.credentials, newRow: newRow), dependency: stores.dependency),
            grants: AdminEndpoints(store: stores.grants, newRow: newRow),
            grantBulk: GrantBulkEndpoints(store: stores.grantBulk, newRow: newRow),
            groups: GroupEndpoints(directory: stores.groups),
            members: GroupMemberEndpoints(store: stores.members, now: parts.now),
            quotas: QuotaEndpoints(
                rows: AdminEndpoints(store: stores.quotas, newRow: newRow), uses: stores.quotaUses),
            issuers: AdminEndpoints(store: stores.issuers, newRow: newRow),
            apiKeys: APIKeyEndpoints(
                rows: AdminEndpoints(store: stores.apiKeys, newRow: newRow), randomBytes: parts.randomBytes),
            gateways: GatewayEndpoints(directory: stores.gateways),
            audit: AuditEndpoints(reader: stores.audit)
        )
        service = ServiceEndpoints(checks: parts.readinessChecks, metricsText: parts.metricsText)
    }
}
