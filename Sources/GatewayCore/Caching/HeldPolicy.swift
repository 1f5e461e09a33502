import FoundationEssentials

/// The rows that the cache holds, and the rules by which they change. It is synchronous: its owner guards it with a
/// lock.
struct HeldPolicy {
    /// The result of an attempt to compose a policy from held rows.
    enum Attempt {
        case complete(AccessPolicy)
        case missing(Set<PolicyKey>)
        case missingPlaces(Set<GrantPlace>)
        case tooManyPlaces
        case tooManyGroups
        /// The policy rests on rows of this principal, which cannot be read.
        case unreadable(PolicyKey)
    }

    /// The caller, bucket and key that a policy is composed for.
    struct Question {
        let principal: Principal
        let groups: [Principal]
        let bucket: BucketName?
        let key: ObjectKey?
    }

    /// What keeps a policy from being composed.
    private struct Gaps {
        /// Keys whose rows are not held.
        var missing: Set<PolicyKey> = []
        /// A principal whose rows are held as unreadable.
        var unreadable: PolicyKey?

        var isEmpty: Bool { missing.isEmpty && unreadable == nil }
    }

    private struct PlacedGrants {
        // The principal's rows that made the lookup by place necessary. When they leave memory, this entry is void.
        let owner: PrincipalPolicy
        /// `nil` if they cannot be read.
        let grants: [GrantRow]?
    }

    /// Identifies rows that callers share: the bucket, the groups of the credential and the groups of the caller's
    /// rows.
    private struct Sharing: Hashable {
        let bucket: BucketName
        let named: [Principal]
        let inRows: [Principal]
    }

    /// Rows that callers share, with their identity.
    private final class Shared: Sendable {
        let sharing: Sharing
        let rows: SharedPolicy

        init(_ sharing: Sharing, _ rows: SharedPolicy) {
            self.sharing = sharing
            self.rows = rows
        }

        func isFor(_ bucket: BucketName, _ named: [Principal], _ inRows: [Principal]) -> Bool {
            sharing.bucket == bucket && sharing.named == named && sharing.inRows == inRows
        }
    }

    /// Position up to which the log of changes was read; `nil` before the first read.
    private(set) var position: PolicyPosition?
    /// The history of the database that the rows are of.
    private var history = DatabaseHistory()
    /// ``position`` for whoever rests on the rows and proves it later.
    var positionInHistory: PolicyPosition? { position.map { $0.read(in: history) } }
    /// Number of times that all rows were discarded. Results of loads that began in an earlier epoch are not used.
    private(set) var epoch: UInt64 = 0
    private var rows: LeastRecentlyUsed<PolicyKey, CachedRows>
    /// Keys known to have no row. They are held apart because anyone can ask for any name; no number of such requests
    /// evicts existing rows from ``rows``.
    private var absent: LeastRecentlyUsed<PolicyKey, CachedRows>
    private var places: LeastRecentlyUsed<GrantPlace, PlacedGrants>
    /// Rows composed once for many callers. They are void as soon as one of them leaves ``rows`` for any reason.
    private var shared: LeastRecentlyUsed<Sharing, Shared>
    /// The shared rows of the latest request.
    private var latest: Shared?
    private let maxGroups: Int

    // Combinations of groups are either few, or so many that one is seldom seen twice.
    private static let maxShared = 1024
    /// Largest number of keys held as known to have no row.
    static let maxAbsent = 16_384
    /// Largest number of places that are held.
    private static let maxPlaces = 50_000

    /// Approximate memory that held rows take, in bytes.
    var cost: Int { rows.cost + absent.cost + places.cost }
    /// Number of keys whose rows are held.
    var count: Int { rows.count + absent.count }

    init(limits: PolicyCache.Limits) {
        rows = LeastRecentlyUsed(maxCount: limits.maxEntries, maxCost: limits.maxBytes)
        absent = LeastRecentlyUsed(
            maxCount: min(Self.maxAbsent, limits.maxEntries), maxCost: limits.maxBytes / 8)
        places = LeastRecentlyUsed(maxCount: Self.maxPlaces, maxCost: limits.maxBytes / 4)
        shared = LeastRecentlyUsed(maxCount: Self.maxShared, maxCost: .max)
        maxGroups = limits.maxGroups
    }

    /// Returns the rows of one key; `nil` if they are not held.
    mutating func content(of key: PolicyKey) -> (position: PolicyPosition, content: CachedRows)? {
        guard let position = positionInHistory, let held = entry(for: key) else { return nil }
        return (position, held)
    }

    private mutating func entry(for key: PolicyKey) -> CachedRows? {
        rows.value(for: key) ?? absent.value(for: key)
    }

    /// Returns the policy that affects a caller if all its rows are held and the shared ones were composed before.
    mutating func policy(of principal: Principal, groups: [Principal], to bucket: BucketName) -> AccessPolicy? {
        guard let position, let held = rows.value(for: .principal(principal)),
            case .principal(let caller) = held, caller.isUser, caller.isComplete,
            groups.count + caller.groups.count <= maxGroups,
            let shared = sharedRows(of: bucket, groups, caller.groups), shared.isComplete
        else { return nil }
        return AccessPolicy(position: position, caller: caller, shared: shared)
    }

    private mutating func sharedRows(
        of bucket: BucketName, _ named: [Principal], _ inRows: [Principal]
    ) -> SharedPolicy? {
        if let latest, latest.isFor(bucket, named, inRows) {
            latest.rows.markUsed()
            return latest.rows
        }
        latest = shared.value(for: Sharing(bucket: bucket, named: named, inRows: inRows))
        latest?.rows.markUsed()
        return latest?.rows
    }

    /// Composes the policy that affects a caller, or returns what must be loaded first.
    mutating func attempt(_ question: Question) -> Attempt {
        if let bucket = question.bucket,
            let policy = policy(of: question.principal, groups: question.groups, to: bucket)
        {
            return .complete(policy)
        }
        var gaps = Gaps()
        var own: [PrincipalPolicy] = []
        take(question.principal, into: &own, gaps: &gaps)
        let groupsOfRows = own.first?.groups ?? []
        guard question.groups.count + groupsOfRows.count <= maxGroups else { return .tooManyGroups }
        let shared = sharedRows(for: question, own.first, gaps: &gaps)
        if let key = gaps.unreadable { return .unreadable(key) }
        guard gaps.missing.isEmpty, let caller = own.first, let position else { return .missing(gaps.missing) }
        var policy = AccessPolicy(position: position, caller: caller, shared: shared)
        if let obstacle = addPlacedGrants(to: &policy, for: question) { return obstacle }
        return .complete(policy)
    }

    /// Returns the rows that are not the caller's own. They are incomplete if `gaps` is not empty.
    private mutating func sharedRows(
        for question: Question, _ caller: PrincipalPolicy?, gaps: inout Gaps
    ) -> SharedPolicy {
        // A caller that is not a user may be one of the groups. Its rows then leave itself out, so they cannot be
        // shared.
        let name = caller?.isUser == true ? question.bucket : nil
        let groupsOfRows = caller?.groups ?? []
        if let name, let held = sharedRows(of: name, question.groups, groupsOfRows) { return held }
        var principals = caller.map { [$0] } ?? []
        for group in question.groups where group.isGroup { take(group, into: &principals, gaps: &gaps) }
        for group in groupsOfRows where group.isGroup { take(group, into: &principals, gaps: &gaps) }
        take(.anyone, into: &principals, gaps: &gaps)
        if caller != nil { principals.removeFirst() }
        var scopes = principals.map(\.scope)
        let (bucket, bucketFlaw) = bucketRow(of: question.bucket, scopes: &scopes, gaps: &gaps)
        let credential = credentialRow(bucket?.bucket.credentialID, scopes: &scopes, gaps: &gaps)
        let signing = bucket?.bucket.publicEndpoints[.cdn]?.signing
        let cdnCredential = credentialRow(signing?.credentialID, scopes: &scopes, gaps: &gaps)
        let rows = SharedPolicy(
            principals: principals, bucket: bucket, bucketFlaw: bucketFlaw, credential: credential,
            cdnCredential: cdnCredential, scopes: scopes)
        // Anyone can ask for a bucket that does not exist. Such names are held in ``absent`` only.
        if let name, bucket != nil, gaps.isEmpty {
            let sharing = Sharing(bucket: name, named: question.groups, inRows: groupsOfRows)
            shared.insert(Shared(sharing, rows), for: sharing, cost: 1)
        }
        return rows
    }

    private mutating func take(
        _ principal: Principal, into principals: inout [PrincipalPolicy], gaps: inout Gaps
    ) {
        switch rows.value(for: .principal(principal)) {
        case .principal(let policy)?:
            if !principals.contains(where: { $0 === policy }) { principals.append(policy) }
        case .unreadable?: gaps.unreadable = .principal(principal)
        default: gaps.missing.insert(.principal(principal))
        }
    }

    private mutating func bucketRow(
        of name: BucketName?, scopes: inout [PolicyScope], gaps: inout Gaps
    ) -> (row: BucketRow?, flaw: GatewayError?) {
        guard let name else { return (nil, nil) }
        let key = PolicyKey.bucket(name)
        switch entry(for: key) {
        case .bucket(let bucket)?:
            scopes.append(key.scope)
            return (bucket, nil)
        case .unreadable?:
            scopes.append(key.scope)
            return (nil, GatewayError.unreadable(key))
        default: gaps.missing.insert(key)
        }
        return (nil, nil)
    }

    /// Returns a credential; `nil` also for one that cannot be read. As for one that no master key opens, what it would
    /// sign is refused, and nothing else.
    private mutating func credentialRow(
        _ id: UUID?, scopes: inout [PolicyScope], gaps: inout Gaps
    ) -> CredentialRow? {
        guard let id else { return nil }
        let key = PolicyKey.credential(id)
        switch entry(for: key) {
        case .credential(let credential)?:
            scopes.append(key.scope)
            return credential
        case .unreadable?: scopes.append(key.scope)
        default: gaps.missing.insert(key)
        }
        return nil
    }

    /// Adds the grants at the places of the key. Returns what keeps the policy from being composed; `nil` if nothing
    /// does.
    private mutating func addPlacedGrants(to policy: inout AccessPolicy, for question: Question) -> Attempt? {
        guard let bucket = question.bucket, let key = question.key, policy.hasBucket else { return nil }
        let crowded = policy.crowded
        guard !crowded.isEmpty else { return nil }
        let prefixes = key.candidatePrefixes
        guard crowded.count <= PolicyCache.maxPlacesOfKey / prefixes.count else { return .tooManyPlaces }
        var missing: Set<GrantPlace> = []
        for principal in crowded {
            for prefix in prefixes {
                let place = GrantPlace(principal: principal.principal, bucket: bucket, prefix: prefix)
                guard let placed = places.value(for: place), placed.owner === principal else {
                    missing.insert(place)
                    continue
                }
                guard let grants = placed.grants else { return .unreadable(.principal(principal.principal)) }
                policy.placedGrants += grants
            }
        }
        return missing.isEmpty ? nil : .missingPlaces(missing)
    }
}

extension HeldPolicy {
    /// Stores loaded rows. Returns `false`, and stores nothing, if they may be older than rows that were dropped
    /// meanwhile.
    mutating func admit(_ load: PolicyLoad<[PolicyRows]>, of keys: [PolicyKey], askedAt epoch: UInt64) -> Bool {
        guard accepts(load.position, askedAt: epoch) else { return false }
        noteUseOfShared()
        for (key, loaded) in zip(keys, load.rows) {
            guard let entry = CachedRows(loaded, of: key) else { continue }
            if entry.isAbsent { noteAbsence(entry, of: key) } else { hold(entry, for: key) }
        }
        return true
    }

    private mutating func hold(_ entry: CachedRows, for key: PolicyKey) {
        var dropped: [PolicyKey] = []
        absent.remove(key)
        rows.insert(entry, for: key, cost: entry.cost, dropped: &dropped)
        if key.isShared || dropped.contains(where: \.isShared) { forgetShared() }
    }

    /// Stores that a row does not exist. Shared rows never include a missing bucket, but they may include a missing
    /// credential.
    private mutating func noteAbsence(_ entry: CachedRows, of key: PolicyKey) {
        var dropped: [PolicyKey] = []
        let wasHeld = rows.value(for: key) != nil
        rows.remove(key)
        absent.insert(entry, for: key, cost: entry.cost, dropped: &dropped)
        if wasHeld && key.isShared || (dropped + [key]).contains(where: \.isCredential) { forgetShared() }
    }

    /// Stores grants that were loaded by place, under the same rule.
    mutating func admit(_ load: PolicyLoad<[[Grant]?]>, at places: [GrantPlace], askedAt epoch: UInt64) -> Bool {
        guard accepts(load.position, askedAt: epoch) else { return false }
        for (place, grants) in zip(places, load.rows) {
            guard let held = rows.value(for: .principal(place.principal)), case .principal(let owner) = held
            else { continue }
            let placed = grants.map { $0.map(GrantRow.init) }
            let cost = (placed ?? []).reduce(250 + place.prefix.rawValue.utf8.count) { $0 + $1.cost }
            self.places.insert(PlacedGrants(owner: owner, grants: placed), for: place, cost: cost)
        }
        return true
    }

    /// Applies changes from the log: drops the changed rows, or all rows.
    mutating func apply(_ changes: PolicyChanges) {
        switch changes {
        case .restart(let position):
            // The log may be that of an older state of the database, whose positions the callers' would be.
            beginHistory()
            self.position = position
        case .scopes(let scopes, let position):
            self.position = position
            for scope in scopes {
                guard let key = PolicyKey(scope) else {
                    forgetEverything()
                    return
                }
                rows.remove(key)
                absent.remove(key)
                if key.isShared { forgetShared() }
            }
        }
    }

    /// Discards all rows, and the results of loads that are under way.
    mutating func discard() {
        forgetEverything()
        epoch += 1
    }

    /// Ends the history of the rows: discards them, and voids the positions that were handed out with them.
    mutating func beginHistory() {
        history.end()
        history = DatabaseHistory()
        discard()
    }

    private mutating func forgetEverything() {
        rows.removeAll()
        absent.removeAll()
        places.removeAll()
        forgetShared()
    }

    private mutating func forgetShared() {
        latest = nil
        if shared.count > 0 { shared.removeAll() }
    }

    /// Marks rows that were used through ``shared`` as used in ``rows``. Call it before rows may be evicted, so that
    /// these do not look unused.
    private mutating func noteUseOfShared() {
        var used: [SharedPolicy] = []
        shared.forEach { if $0.rows.takeUse() { used.append($0.rows) } }
        for key in used.flatMap(\.keys) { _ = rows.value(for: key) }
    }

    private mutating func accepts(_ loaded: PolicyPosition, askedAt epoch: UInt64) -> Bool {
        guard epoch == self.epoch else { return false }
        guard let position else {
            self.position = loaded
            return true
        }
        // An equal number with another tag belongs to another log: a failover happened, and the next read of the log
        // detects it.
        return loaded.sequence > position.sequence || loaded == position
    }
}

extension PolicyKey {
    /// Whether the rows may be among those that callers share.
    fileprivate var isShared: Bool {
        switch self {
        case .principal(let principal): !principal.isUser
        case .bucket, .credential: true
        case .issuer, .apiKey, .ticket: false
        }
    }

    fileprivate var isCredential: Bool {
        if case .credential = self { true } else { false }
    }

    /// Whether callers who are not authenticated yet can name the key.
    var isIdentity: Bool {
        switch self {
        case .issuer, .apiKey, .ticket: true
        case .principal, .bucket, .credential: false
        }
    }
}
