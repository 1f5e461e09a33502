public import FoundationEssentials
public import GatewayCore
public import LibPQ
public import Logging

/// The stores of all resources that admins manage.
public struct PostgresAdminStores: Sendable {
    /// Buckets, with the endpoint, scheme and credential that sign for each.
    let buckets: PostgresAdminStore<Bucket>
    /// Credentials for object stores.
    let credentials: PostgresAdminStore<StorageCredential>
    /// Grants. Removed grants stay in the database as history.
    let grants: PostgresAdminStore<Grant>
    /// Memberships of groups, one row for each member of a group.
    let members: PostgresAdminStore<GroupMember>
    /// Limits on URLs and bytes per principal, bucket and action.
    let quotas: PostgresAdminStore<Quota>
    /// Issuers of JWTs.
    let issuers: PostgresAdminStore<Issuer>
    /// API keys of principals. The keys themselves are stored as hashes only.
    let apiKeys: PostgresAdminStore<APIKey>
    /// Tickets of principals. Their secrets are stored as hashes only.
    let tickets: PostgresAdminStore<Ticket>
    /// All that a user has, together.
    let offboarding: PostgresOffboarding
    /// Groups that have members or grants.
    let groups: PostgresGroups
    /// Reads and resets the counters of quotas.
    let quotaCounters: PostgresQuotaCounters
    /// Reads the buckets and live issuances that depend on storage credentials.
    let dependency: PostgresCredentialDependency
    /// Gateways that have announced themselves with a ``Heartbeat``.
    let gateways: PostgresGateways
    /// The audit of admins' changes, for reading.
    let audit: PostgresAuditReader
    /// What the pages of the console need.
    let console: PostgresConsoleDirectory

    /// Settings for the sessions of the pool. PostgreSQL plans each statement for its own values: where it considers a
    /// plan for any values, which is at the sixth time, it opens every day of the ledger.
    public static let sessionSettings: [(name: String, value: String)] = [
        ("synchronous_commit", "on"), ("statement_timeout", "10s"), ("lock_timeout", "2s"),
        ("idle_in_transaction_session_timeout", "1s"),
        ("plan_cache_mode", "force_custom_plan"),
    ]

    /// Creates the stores.
    ///
    /// - Parameters:
    ///   - pool: Connections logged in as the gateway, with ``sessionSettings``. The policy source needs a pool of its
    ///     own.
    ///   - keys: Master keys that seal secrets.
    ///   - logger: Receives the reasons for failed changes.
    ///   - now: Returns the current time, for the identifiers of audit rows.
    public init(
        pool: PostgresPool, keys: MasterKeyRing, logger: Logger, now: @escaping @Sendable () -> Date
    ) {
        buckets = PostgresAdminStore(.buckets, pool: pool, logger: logger, now: now)
        credentials = PostgresAdminStore(.storageCredentials(keys: keys), pool: pool, logger: logger, now: now)
        grants = PostgresAdminStore(.grants, pool: pool, logger: logger, now: now)
        members = PostgresAdminStore(.groupMembers, pool: pool, logger: logger, now: now)
        quotas = PostgresAdminStore(.quotas, pool: pool, logger: logger, now: now)
        issuers = PostgresAdminStore(.issuers(keys: keys), pool: pool, logger: logger, now: now)
        apiKeys = PostgresAdminStore(.apiKeys, pool: pool, logger: logger, now: now)
        tickets = PostgresAdminStore(.tickets(keys: keys), pool: pool, logger: logger, now: now)
        offboarding = PostgresOffboarding(pool: pool, logger: logger)
        groups = PostgresGroups(pool: pool, logger: logger)
        quotaCounters = PostgresQuotaCounters(pool: pool, logger: logger, now: now)
        dependency = PostgresCredentialDependency(pool: pool, logger: logger)
        gateways = PostgresGateways(pool: pool, logger: logger)
        audit = PostgresAuditReader(pool: pool, logger: logger)
        console = PostgresConsoleDirectory(pool: pool, logger: logger)
    }

    /// All of them, with the store of many grants at once, which has connections of its own.
    public func all(grantBulk: any GrantBulkStore) -> AdminStores {
        AdminStores(
            buckets: buckets, credentials: credentials, grants: grants, grantBulk: grantBulk, members: members,
            quotas: quotas, issuers: issuers, apiKeys: apiKeys, tickets: tickets, ticketRevocation: tickets,
            offboarding: offboarding, groups: groups, quotaCounters: quotaCounters, dependency: dependency,
            gateways: gateways,
            audit: audit, console: console)
    }
}
