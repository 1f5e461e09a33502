/// Reports to callers which actions they may perform and what remains of their quotas.
public struct AccessOverview: Sendable {
    /// Maximum number of grants in an answer; more would be of no use on a caller's screen. To see the others, a caller
    /// asks about a bucket or a prefix.
    static let maxGrants = 1000

    /// The access of one caller.
    public struct Access: Sendable {
        /// Grants of the caller, the caller's groups and `*`, sorted by bucket, prefix and identifier. Grants outside
        /// their validity period are included.
        public let grants: [EffectiveGrant]
        /// Whether more grants exist than are listed.
        public let isTruncated: Bool
        /// Quotas that limit the caller, with what remains of each, sorted by identifier.
        public let quotas: [QuotaBalance]
    }

    /// A grant as it applies to one caller.
    public struct EffectiveGrant: Sendable {
        /// The grant as stored.
        public let grant: Grant
        /// The prefix with variables filled in for the caller.
        public let prefix: ExactText
    }

    private let cache: PolicyCache
    private let usage: any QuotaUsageSource

    /// Creates the use case from its parts.
    public init(cache: PolicyCache, usage: any QuotaUsageSource) {
        self.cache = cache
        self.usage = usage
    }

    /// Collects a caller's access, by the policy that was known when the caller was authenticated or by later policy.
    ///
    /// An allow template without a usable value for this caller permits nothing and is left out. A deny template
    /// without one is listed with the part before its first variable.
    ///
    /// - Parameters:
    ///   - caller: The caller.
    ///   - bucket: Only grants and quotas that count in this bucket; `nil` for all.
    ///   - prefix: Only grants that cover this prefix or lie below it. It is empty, a text that ends in `/`, or one
    ///     whole key; without a bucket it is empty.
    /// - Throws: `unavailable`, `slowDown`, `unauthenticated` if the caller has more groups than the limit.
    public func access(
        of caller: Caller, in bucket: BucketName? = nil, around prefix: ExactText = ExactText("")
    ) async throws(GatewayError) -> Access {
        let policy = try await cache.access(
            of: caller.principal, groups: caller.groups, in: bucket, around: prefix, first: Self.maxGrants + 1)
        let area = KeyArea(prefix: prefix)
        let grants = Self.effectiveGrants(for: caller.subject, under: policy) { effective in
            (bucket == nil || effective.grant.bucket == bucket)
                && KeyArea(prefix: effective.prefix).intersection(area) != nil
        }
        let holdings = policy.holdings(of: caller.principal) {
            bucket == nil || $0.bucket == nil || $0.bucket == bucket
        }
        let remainders = holdings.isEmpty ? [] : try await usage.usage(of: holdings)
        return Access(
            grants: Array(grants.prefix(Self.maxGrants)),
            isTruncated: grants.count > Self.maxGrants,
            quotas: zip(holdings, remainders).map { QuotaBalance(quota: $0.quota, remainder: $1) }
        )
    }

    private static func effectiveGrants(
        for subject: Subject, under policy: AccessPolicy, where isWanted: (EffectiveGrant) -> Bool
    ) -> [EffectiveGrant] {
        (policy.principals.flatMap(\.grants) + policy.literalGrants)
            .compactMap { grant in
                grant.expandedPrefix(for: subject).map { EffectiveGrant(grant: grant, prefix: $0) }
            }
            .filter(isWanted)
            .sorted { left, right in
                let (leftBucket, rightBucket) = (left.grant.bucket.rawValue, right.grant.bucket.rawValue)
                if leftBucket != rightBucket { return leftBucket < rightBucket }
                guard left.prefix == right.prefix else {
                    return left.prefix.rawValue.utf8.lexicographicallyPrecedes(right.prefix.rawValue.utf8)
                }
                return left.grant.id < right.grant.id
            }
    }
}
