public import FoundationEssentials

/// The stores of rows that admins manage.
public struct AdminStores: Sendable {
    /// Buckets.
    public let buckets: any AdminStore<Bucket>
    /// Storage credentials.
    public let credentials: any AdminStore<StorageCredential>
    /// Grants.
    public let grants: any AdminStore<Grant>
    /// Batches, imports and exports of grants.
    public let grantBulk: any GrantBulkStore
    /// Members of groups.
    public let members: any AdminStore<GroupMember>
    /// Quotas.
    public let quotas: any AdminStore<Quota>
    /// Issuers of JWTs.
    public let issuers: any AdminStore<Issuer>
    /// API keys.
    public let apiKeys: any AdminStore<APIKey>
    /// Tickets, which users create themselves.
    public let tickets: any AdminStore<Ticket>
    /// Revokes all tickets of a principal at once.
    public let ticketRevocation: any TicketRevocation
    /// Lists and removes all that a user has.
    public let offboarding: any OffboardingStore
    /// Groups that have members or grants.
    public let groups: any GroupDirectory
    /// The usage counters of quotas.
    public let quotaCounters: any QuotaCounterStore
    /// Rows that depend on storage credentials.
    public let dependency: any CredentialDependency
    /// Gateways that have registered themselves.
    public let gateways: any GatewayDirectory
    /// The audit log.
    public let audit: any AuditReader
    /// What the pages of the console need.
    public let console: any ConsoleDirectory

    /// Puts the stores together, the rows behind the rules for delegated admins.
    public init(
        buckets: any AdminStore<Bucket>, credentials: any AdminStore<StorageCredential>,
        grants: any AdminStore<Grant>, grantBulk: any GrantBulkStore, members: any AdminStore<GroupMember>,
        quotas: any AdminStore<Quota>, issuers: any AdminStore<Issuer>, apiKeys: any AdminStore<APIKey>,
        tickets: any AdminStore<Ticket>, ticketRevocation: any TicketRevocation,
        offboarding: any OffboardingStore, groups: any GroupDirectory,
        quotaCounters: any QuotaCounterStore, dependency: any CredentialDependency, gateways: any GatewayDirectory,
        audit: any AuditReader, console: any ConsoleDirectory
    ) {
        self.buckets = DelegatedRows(buckets)
        self.credentials = DelegatedRows(credentials)
        self.grants = DelegatedRows(grants)
        self.grantBulk = grantBulk
        self.members = DelegatedRows(members)
        self.quotas = DelegatedRows(quotas)
        self.issuers = DelegatedRows(issuers)
        self.apiKeys = DelegatedRows(apiKeys)
        self.tickets = DelegatedRows(tickets)
        self.ticketRevocation = ticketRevocation
        self.offboarding = offboarding
        self.groups = groups
        self.quotaCounters = quotaCounters
        self.dependency = dependency
        self.gateways = gateways
        self.audit = audit
        self.console = console
    }

    /// The rules for creating and changing buckets.
    public var bucketChanges: BucketChanges {
        BucketChanges(buckets: buckets, credentials: credentials, dependency: dependency)
    }

    /// The rules for creating, changing and rotating API keys.
    ///
    /// - Parameters:
    ///   - now: The gateway's clock.
    ///   - randomBytes: Returns the given number of unpredictable bytes.
    public func apiKeyChanges(
        now: @escaping @Sendable () -> Date, randomBytes: @escaping @Sendable (Int) throws -> [UInt8]
    ) -> APIKeyChanges {
        APIKeyChanges(keys: apiKeys, now: now, randomBytes: randomBytes)
    }
}
