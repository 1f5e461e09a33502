public import Foundation
public import GatewayCore
public import LibPQ
public import Logging

/// The stores of everything that admins manage.
public struct PostgresAdminStores: Sendable {
    /// Buckets.
    public let buckets: PostgresAdminStore<Bucket>
    /// Credentials of stores.
    public let credentials: PostgresAdminStore<StorageCredential>
    /// Grants; those that were removed stay in the database as history.
    public let grants: PostgresAdminStore<Grant>
    /// Memberships of groups.
    public let members: PostgresAdminStore<GroupMember>
    /// Quotas.
    public let quotas: PostgresAdminStore<Quota>
    /// Issuers of tokens.
    public let issuers: PostgresAdminStore<Issuer>
    /// API keys.
    public let apiKeys: PostgresAdminStore<APIKey>
    /// Tickets.
    public let tickets: PostgresAdminStore<Ticket>
    /// Groups that have members or grants.
    public let groups: PostgresGroups
    /// The use of quotas.
    public let quotaUses: PostgresQuotaUses
    /// What depends on storage credentials.
    public let dependency: PostgresCredentialDependency
    /// Gateways that made themselves known.
    public let gateways: PostgresGateways
    /// The audit.
    public let audit: PostgresAudit

    /// Settings that sessions of the pool should have.
    public static let sessionSettings: [(name: String, value: String)] = [
        ("synchronous_commit", "on"), ("default_transaction_isolation", "read committed"),
        ("statement_timeout", "10s"), ("idle_in_transaction_session_timeout", "1s"), ("jit", "off"),
    ]

    /// Makes the stores.
    ///
    /// - Parameters:
    ///   - pool: Logged in as the gateway, its sessions with ``sessionSettings``; not that of the policy source.
    ///   - keys: What secrets are sealed with.
    ///   - logger: Told why a change failed.
    ///   - now: The time, for identifiers of audit rows.
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
        groups = PostgresGroups(pool: pool, logger: logger)
        quotaUses = PostgresQuotaUses(pool: pool, logger: logger, now: now)
        dependency = PostgresCredentialDependency(pool: pool, logger: logger)
        gateways = PostgresGateways(pool: pool, logger: logger)
        audit = PostgresAudit(pool: pool, logger: logger)
    }
}
