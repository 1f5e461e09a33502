public import FoundationEssentials

/// Answers who may do what: what a principal may do, and who may reach a key or a prefix.
///
/// Where a key is given, the decision function decides. Groups that only tokens or API keys name are not known here.
///
/// Verdicts follow from all rows, also for a delegated admin who asks about a key inside. What is shown of the rows
/// lies inside. Of a principal's groups, a delegated admin sees those that a scope names, or that have a row inside.
public struct AccessReview: Sendable {
    /// Maximum number of grants listed for one principal and one key.
    static let maxGrantsOfKey = 100

    private let cache: PolicyCache
    private let rows: any AccessRows
    private let usage: any QuotaUsageSource
    private let now: @Sendable () -> Date

    /// Creates the use case from its parts.
    public init(
        cache: PolicyCache, rows: any AccessRows, usage: any QuotaUsageSource, now: @escaping @Sendable () -> Date
    ) {
        self.cache = cache
        self.rows = rows
        self.usage = usage
        self.now = now
    }

    /// Lists the grants of a principal, of the groups that rows put it in, and of `*`.
    ///
    /// - Throws: `invalidArgument`, also for a principal in more groups than the limit, `outsideAdminScope`,
    ///   `slowDown`, `unavailable`.
    public func access(
        of principal: Principal, in bucket: BucketName?, _ page: ListQuery
    ) async throws(GatewayError) -> PrincipalAccess {
        guard page.reach.touches(principal) else { throw .outsideAdminScope }
        try await cache.advance()
        let policy: AccessPolicy
        do throws(GatewayError) {
            policy = try await self.policy(of: principal, in: nil, key: nil)
        } catch .unauthenticated {
            // The error concerns the principal, not the admin who asks.
            throw .invalidArgument(
                field: "principal",
                reason: "The principal belongs to too many groups, so that all its requests are refused.")
        }
        let acting = policy.principals.map(\.principal).filter { principal.isUser || !$0.isUser }
        let instant = now()
        let grants = try await rows.grants(of: acting, in: bucket, page)
        let subject = principal.isUser ? Subject(principal: principal, knownClaims: [:]) : nil
        let holdings = policy.holdings(of: principal) {
            (bucket == nil || $0.bucket == nil || $0.bucket == bucket) && $0.isVisible(within: page.reach)
        }
        // What is left of a quota is known for one user, or where all share it.
        let counted = holdings.filter { principal.isUser || $0.quota.sharing == .shared }
        let remainders = counted.isEmpty ? [] : try await usage.usage(of: counted)
        let left = Dictionary(remainders.map { ($0.quotaID, $0) }) { first, _ in first }
        return PrincipalAccess(
            members: try await members(of: principal, under: policy, within: page.reach),
            grants: Page(
                items: grants.items.map { grant in
                    .init(
                        grant: grant, origin: Self.origin(of: grant.principal, for: principal),
                        prefix: subject.flatMap { grant.prefix.expanded(for: $0) },
                        standing: GrantStanding(of: grant, at: instant))
                }, nextPageToken: grants.nextPageToken),
            quotas: holdings.map { .init(quota: $0.quota, holder: $0.holder, remainder: left[$0.quota.id]) })
    }

    /// Lists who may reach a key: every principal with a grant that covers it, or may cover it for some identity.
    ///
    /// - Parameters:
    ///   - principal: The one principal to judge, whether or not it has such a grant itself; `nil` for all.
    ///   - includesMembers: Whether to judge the members of groups one by one as well.
    /// - Returns: A page of principals. A page may hold fewer than its size, and still have a token.
    /// - Throws: `invalidArgument`, `outsideAdminScope`, `slowDown`, `unavailable`.
    public func access(
        to key: ObjectKey, in bucket: BucketName, of principal: Principal?, includesMembers: Bool, _ page: ListQuery
    ) async throws(GatewayError) -> Page<KeyAccess> {
        let reach = page.reach
        let isInside =
            principal.map { reach.holds(bucket: bucket.rawValue, place: key.rawValue, principals: [$0.rawValue]) }
            ?? reach.touches(bucket: bucket, place: key.rawValue)
        guard isInside else { throw .outsideAdminScope }
        try await cache.advance()
        let found: Page<Principal>
        if let principal {
            found = Page(items: [principal], nextPageToken: nil)
        } else {
            found = try await rows.principals(reaching: key, in: bucket, includesMembers: includesMembers, page)
        }
        let grants = try await rows.grants(
            of: found.items, reaching: key, in: bucket, limit: Self.maxGrantsOfKey)
        let counts = try await rows.memberCounts(of: found.items.filter(\.isGroup))
        var items: [KeyAccess] = []
        for one in found.items {
            let verdicts = try await verdicts(of: one, on: key, in: bucket).map { $0.shown(within: reach) }
            if verdicts.isEmpty, principal == nil { continue }
            items.append(
                KeyAccess(
                    principal: one, memberCount: counts[one], verdicts: verdicts,
                    grants: grants.filter { $0.principal == one && $0.isVisible(within: reach) }))
        }
        return Page(items: items, nextPageToken: found.nextPageToken)
    }

    /// Lists the grants around a prefix: those above it that cover it, and those below it.
    ///
    /// - Throws: `invalidArgument`, `outsideAdminScope`, `slowDown`, `unavailable`.
    public func access(
        around prefix: ExactText, in bucket: BucketName, _ page: ListQuery
    ) async throws(GatewayError) -> Page<PrefixAccess> {
        guard page.reach.touches(bucket: bucket, place: prefix.rawValue) else { throw .outsideAdminScope }
        let instant = now()
        let found = try await rows.grants(around: prefix, in: bucket, page)
        let groups = Set(found.items.map(\.grant.principal).filter(\.isGroup))
        let counts = try await rows.memberCounts(of: groups.sorted { $0.rawValue < $1.rawValue })
        return Page(
            items: found.items.map {
                PrefixAccess(
                    grant: $0.grant, relation: $0.relation, memberCount: counts[$0.grant.principal],
                    standing: GrantStanding(of: $0.grant, at: instant))
            }, nextPageToken: found.nextPageToken)
    }

    /// Returns what a principal acts as, as far as an admin may see it.
    private func members(
        of principal: Principal, under policy: AccessPolicy, within reach: AdminReach
    ) async throws(GatewayError) -> [Explanation.Member] {
        var members: [Explanation.Member] = []
        for acting in policy.principals where principal.isUser || !acting.principal.isUser {
            let name = acting.principal
            if name.isGroup, name != principal {
                guard try await shows(acting, within: reach) else { continue }
            } else {
                guard name == principal || reach.touches(name) else { continue }
            }
            members.append(.init(principal: name, origin: Self.origin(of: name, for: principal)))
        }
        return members
    }

    /// Whether a delegated admin may learn who is in a group: a scope names it, or one of its rows lies inside.
    private func shows(_ group: PrincipalPolicy, within reach: AdminReach) async throws(GatewayError) -> Bool {
        if reach.names(group.principal) { return true }
        if group.grants.contains(where: { $0.isVisible(within: reach) }) { return true }
        if group.quotas.contains(where: { $0.isVisible(within: reach) }) { return true }
        // The policy does not hold all grants of a group that has many.
        guard !group.isComplete else { return false }
        let found = try await rows.grants(of: [group.principal], in: nil, ListQuery(pageSize: 1, reach: reach))
        return !found.items.isEmpty
    }

    private func verdicts(
        of principal: Principal, on key: ObjectKey, in bucket: BucketName
    ) async throws(GatewayError) -> [AccessVerdict] {
        let policy: AccessPolicy
        do throws(GatewayError) {
            policy = try await self.policy(of: principal, in: bucket, key: key)
        } catch .unauthenticated {
            // The caller has more groups than the limit, so every request is refused.
            return Action.allCases.map { AccessVerdict(action: $0, outcome: .denied, reason: .unauthenticated) }
        }
        if let flaw = policy.bucketFlaw { throw flaw }
        guard policy.bucket != nil else {
            return Action.allCases.map { AccessVerdict(action: $0, outcome: .denied, reason: .noSuchBucket) }
        }
        let judge = AccessJudge(principal: principal, policy: policy, bucket: bucket, key: key, now: now())
        var verdicts: [AccessVerdict] = []
        for action in Action.allCases {
            let verdict: AccessVerdict?
            if action == .listObjects {
                verdict = try await verdictOnListing(by: judge)
            } else {
                verdict = try judge.verdict(on: action)
            }
            if let verdict { verdicts.append(verdict) }
        }
        return verdicts
    }

    /// Sums up the listing of all that begins with the key; `nil` if no grant bears on it.
    private func verdictOnListing(by judge: AccessJudge) async throws(GatewayError) -> AccessVerdict? {
        guard let verdict = try judge.verdict(on: .listObjects) else { return nil }
        // The rows for a key may lack grants below it. These can only deny more.
        guard verdict.outcome != .denied, !judge.policy.principals.allSatisfy(\.isComplete) else { return verdict }
        do throws(GatewayError) {
            let policy = try await policy(
                of: judge.principal, in: judge.bucket, key: judge.key, listing: judge.listing())
            return try AccessJudge(
                principal: judge.principal, policy: policy, bucket: judge.bucket, key: judge.key, now: judge.now
            ).verdict(on: .listObjects)
        } catch .notEnforceable {
            // More grants lie below than can be examined, so every such listing is refused.
            return AccessVerdict(action: .listObjects, outcome: .denied, reason: .conditionFailed)
        }
    }

    /// Reads the rows that decisions about a principal use; for a group, those of a member without other rows.
    ///
    /// - Throws: `unauthenticated` if the principal is in more groups than the limit, `notEnforceable` if more grants
    ///   affect a listing than can be examined, `slowDown`, `unavailable`.
    private func policy(
        of principal: Principal, in bucket: BucketName?, key: ObjectKey?, listing: Listing? = nil
    ) async throws(GatewayError) -> AccessPolicy {
        let caller = principal.isUser ? principal : Self.nobody
        let groups = principal.isGroup ? [principal] : []
        let policy: AccessPolicy
        if let bucket, let key, let listing {
            policy = try await cache.access(of: caller, groups: groups, to: bucket, key: key, listing: listing)
        } else {
            policy = try await cache.access(of: caller, groups: groups, to: bucket, key: key)
        }
        guard !principal.isUser else { return policy }
        let others = policy.principals.filter { $0.principal == principal || $0.principal == .anyone }
        let literals = policy.literalGrants.filter { $0.principal == principal || $0.principal == .anyone }
        return policy.replacing(principals: others, literalGrants: literals)
    }

    /// A user without rows: no issuer and no API key can have it.
    private static let nobody = Principal.bootstrapAdmin

    private static func origin(of acting: Principal, for principal: Principal) -> Explanation.Origin {
        if acting == principal { return .caller }
        return acting == .anyone ? .everyone : .membership
    }
}
