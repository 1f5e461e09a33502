/// Tells callers what they may do and what is left of their quotas.
public struct AccessOverview: Sendable {
    /// Most grants of one answer; there is no use for more on a caller's screen.
    public static let maxGrants = 1000

    /// What a caller may do.
    public struct Access: Sendable {
        /// Grants of the caller, the caller's groups and `*`, sorted by bucket, prefix and identifier; no validity is judged.
        public let grants: [EffectiveGrant]
        /// Whether there are more grants than are shown.
        public let isTruncated: Bool
        /// Quotas that limit the caller, with what is left of each, sorted by identifier.
        public let quotas: [QuotaBalance]
    }

    /// A grant as it applies to one caller.
    public struct EffectiveGrant: Sendable {
        /// The grant.
        public let grant: Grant
        /// Its prefix as it applies, with the variables filled in.
        public let prefix: ExactText
    }

    private let cache: PolicyCache
    private let usage: any QuotaUsageSource

    /// Puts the use case together.
    public init(cache: PolicyCache, usage: any QuotaUsageSource) {
        self.cache = cache
        self.usage = usage
    }

    /// Collects what a caller may do, by policy as it is committed.
    ///
    /// A template that allows, without a usable value for this caller, permits nothing and is left out; one that denies stands
    /// there with what is before its first variable.
    /// - Throws: `unavailable`, `slowDown`, `unauthenticated` for more groups than the limit.
    public func access(of caller: Caller) async throws(GatewayError) -> Access {
        try await cache.advance()
        let policy = try await cache.access(of: caller.principal, groups: caller.groups, to: nil, key: nil)
        let grants = Self.effectiveGrants(for: caller.subject, under: policy)
        let holdings = Self.holdings(of: caller.principal, under: policy)
        let remainders = holdings.isEmpty ? [] : try await usage.usage(of: holdings)
        return Access(
            grants: Array(grants.prefix(Self.maxGrants)),
            isTruncated: grants.count > Self.maxGrants || policy.principals.contains { !$0.isComplete },
            quotas: zip(holdings, remainders).map { QuotaBalance(quota: $0.quota, remainder: $1) }
        )
    }

    private static func effectiveGrants(for subject: Subject, under policy: AccessPolicy) -> [EffectiveGrant] {
        policy.principals
            .flatMap(\.grants)
            .compactMap { grant in
                grant.expandedPrefix(for: subject).map { EffectiveGrant(grant: grant, prefix: $0) }
            }
            .sorted { left, right in
                let (leftBucket, rightBucket) = (left.grant.bucket.rawValue, right.grant.bucket.rawValue)
                if leftBucket != rightBucket { return leftBucket < rightBucket }
                guard left.prefix == right.prefix else {
                    return left.prefix.rawValue.utf8.lexicographicallyPrecedes(right.prefix.rawValue.utf8)
                }
                return left.grant.id < right.grant.id
            }
    }

    private static func holdings(of caller: Principal, under policy: AccessPolicy) -> [QuotaHolding] {
        policy.principals
            .flatMap(\.quotas)
            .map { QuotaHolding(quota: $0, holder: $0.holder(for: caller)) }
            .sorted { $0.quota.id < $1.quota.id }
    }
}
