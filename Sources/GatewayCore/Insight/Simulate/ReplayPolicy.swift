import FoundationEssentials

/// Current and proposed policy for the callers of some issuances. The size is bounded: when it is exceeded, the cache
/// is emptied.
struct ReplayPolicy {
    /// A principal's rows under current and under proposed policy.
    struct Entry {
        /// Groups that rows put the principal in.
        let groups: [Principal]
        /// Groups that rows would put the principal in.
        let proposedGroups: [Principal]
        let present: PrincipalPolicy
        let proposed: PrincipalPolicy
        /// Buckets in which a current or proposed grant covers exactly one key.
        let wholeKeyBuckets: Set<BucketName>
        var isComplete: Bool { present.isComplete }
    }

    /// Maximum number of cached principals, maximum number of cached places, and maximum number of grants of all
    /// principals.
    private static let maxEntries = 20_000
    private static let maxGrants = 50_000
    /// Maximum number of keys in one load.
    private static let chunk = 500
    /// Principals with more literal grants than this are looked up by place, so that the grants of one chunk of
    /// principals stay within bounds.
    private static let literalGrantLimit = 32

    private let source: any PolicySource
    private let proposal: PolicyProposal
    /// The grants that the proposal would remove or replace, as they are.
    private let outgoingGrants: [Grant]
    private var entries: [Principal: Entry] = [:]
    private var grantCount = 0
    private var places: [GrantPlace: [Grant]] = [:]
    private var buckets: [BucketName: Bucket] = [:]
    private var credentials: [UUID: StorageCredential] = [:]
    /// Grants with a condition on the source address. The ledger does not record that address, so the condition is
    /// dropped here.
    private(set) var askingForSource: Set<UUID> = []
    /// The first policy position that was read.
    private(set) var position: PolicyPosition?

    init(source: any PolicySource, proposal: PolicyProposal, outgoingGrants: [Grant]) {
        self.source = source
        self.proposal = proposal
        self.outgoingGrants = outgoingGrants
    }

    /// Loads the rows that some issuances need.
    mutating func prepare(_ requests: [ReplayRequest]) async throws(GatewayError) {
        if entries.count > Self.maxEntries || places.count > Self.maxEntries || grantCount > Self.maxGrants {
            entries = [:]
            places = [:]
            grantCount = 0
            askingForSource = []
        }
        try await load(Set(requests.map(\.principal)).union([.anyone]))
        var groups = Set(requests.compactMap(\.namedGroup))
        for request in requests {
            groups.formUnion(entries[request.principal]?.groups ?? [])
            groups.formUnion(entries[request.principal]?.proposedGroups ?? [])
        }
        try await load(groups)
        try await loadBuckets(Set(requests.map(\.wish.bucket)))
        try await loadPlaces(requests)
    }

    private mutating func load(_ principals: Set<Principal>) async throws(GatewayError) {
        var missing = principals.filter { entries[$0] == nil }[...]
        while !missing.isEmpty {
            let keys = missing.prefix(Self.chunk).map { PolicyKey.principal($0) }
            missing = missing.dropFirst(Self.chunk)
            let load = try await read(keys, literalGrantLimit: Self.literalGrantLimit)
            position = position ?? load.position
            for case (.principal(let principal), .principal(let rows)) in zip(keys, load.rows) {
                entries[principal] = entry(of: principal, rows)
            }
        }
    }

    /// Reads rows. Without those that this version cannot read, a replay would permit more, or less, than they do.
    private func read(
        _ keys: [PolicyKey], literalGrantLimit: Int
    ) async throws(GatewayError) -> PolicyLoad<[PolicyRows]> {
        let load = try await source.load(keys, literalGrantLimit: literalGrantLimit)
        for (key, rows) in zip(keys, load.rows) {
            if case .unreadable = rows { throw .unreadable(key) }
        }
        return load
    }

    private mutating func entry(of principal: Principal, _ rows: PrincipalRows) -> Entry {
        let outgoing = proposal.outgoing
        var present = rows
        present.grants = rows.grants.map { withoutSource($0) }
        var proposed = present
        proposed.grants.removeAll { outgoing.contains($0.id) }
        proposed.grants += proposal.incoming.filter { $0.principal == principal }.map { withoutSource($0) }
        let whole = (present.grants + proposed.grants).filter { !$0.prefix.coversManyKeys }.map(\.bucket)
        grantCount += present.grants.count
        return Entry(
            groups: rows.groups, proposedGroups: proposal.groups(of: principal, before: rows.groups),
            present: PrincipalPolicy(principal: principal, rows: present),
            proposed: PrincipalPolicy(principal: principal, rows: proposed), wholeKeyBuckets: Set(whole))
    }

    private mutating func withoutSource(_ grant: Grant) -> Grant {
        guard grant.conditions.sourceCIDRs != nil else { return grant }
        askingForSource.insert(grant.id)
        var grant = grant
        grant.conditions.sourceCIDRs = nil
        return grant
    }

    private mutating func loadBuckets(_ names: Set<BucketName>) async throws(GatewayError) {
        let missing = names.filter { buckets[$0] == nil }.map { PolicyKey.bucket($0) }
        if !missing.isEmpty {
            for case .bucket(let bucket?) in try await read(missing, literalGrantLimit: 1).rows {
                buckets[bucket.name] = bucket
            }
        }
        let ids = Set(names.compactMap { buckets[$0] }.flatMap { [$0.credentialID] + $0.cdnCredentialIDs })
            .filter { credentials[$0] == nil }
        if !ids.isEmpty {
            let load = try await read(ids.map { .credential($0) }, literalGrantLimit: 1)
            for case .credential(let credential?) in load.rows { credentials[credential.id] = credential }
        }
    }

    /// Loads grants by place for principals that have too many to cache.
    private mutating func loadPlaces(_ requests: [ReplayRequest]) async throws(GatewayError) {
        var missing: Set<GrantPlace> = []
        for request in requests {
            for place in placesOfInterest(to: request) where places[place] == nil { missing.insert(place) }
        }
        var rest = Array(missing)[...]
        while !rest.isEmpty {
            let chunk = Array(rest.prefix(Self.chunk * 4))
            rest = rest.dropFirst(chunk.count)
            for (place, grants) in zip(chunk, try await source.grants(at: chunk).rows) {
                guard let grants else { throw .unreadable(.principal(place.principal)) }
                places[place] = grants.map { withoutSource($0) }
            }
        }
    }

    private func placesOfInterest(to request: ReplayRequest) -> [GrantPlace] {
        guard case .object(let wish) = request.wish else { return [] }
        let crowded = members(of: request).filter { entries[$0]?.isComplete == false }
        guard !crowded.isEmpty else { return [] }
        let prefixes = wish.key.candidatePrefixes
        return crowded.flatMap { principal in
            prefixes.map { GrantPlace(principal: principal, bucket: wish.bucket, prefix: $0) }
        }
    }

    /// Returns all principals that a caller acts as, as far as rows and the ledger show.
    private func members(of request: ReplayRequest, proposed: Bool) -> Set<Principal> {
        let entry = entries[request.principal]
        var members = Set((proposed ? entry?.proposedGroups : entry?.groups) ?? [])
        members.formUnion([request.principal, .anyone])
        // A group that no row names came from the credential, so it stays.
        if let named = request.namedGroup, entry?.groups.contains(named) != true { members.insert(named) }
        return members
    }

    /// Returns all principals that a caller acts as, or would.
    private func members(of request: ReplayRequest) -> Set<Principal> {
        members(of: request, proposed: false).union(members(of: request, proposed: true))
    }

    /// Returns the rows that decide a request under current or proposed policy.
    func policy(for request: ReplayRequest, proposed: Bool) -> AccessPolicy {
        let others = members(of: request, proposed: proposed).subtracting([request.principal])
        let principals = [request.principal] + others.sorted { $0.rawValue < $1.rawValue }
        let outgoing = proposed ? proposal.outgoing : []
        let literals = placesOfInterest(to: request)
            .filter { principals.contains($0.principal) }
            .flatMap { places[$0] ?? [] }
            .filter { !outgoing.contains($0.id) }
        let bucket = buckets[request.wish.bucket]?.signed(by: request.row.credentialID)
        let credential = bucket.flatMap { credentials[$0.credentialID] }
        return AccessPolicy(
            position: position ?? PolicyPosition(sequence: 0, tag: UUID()),
            principals: principals.compactMap { proposed ? entries[$0]?.proposed : entries[$0]?.present },
            literalGrants: literals, bucket: bucket, credential: credential, cdnCredential: credential, scopes: [])
    }

    /// Returns whether a deny grant that is proposed, or one of a group that the caller would join, might apply to the
    /// request, depending on a claim that the ledger does not record.
    func mightBeDenied(_ request: ReplayRequest) -> Bool {
        guard case .object(let wish) = request.wish else { return false }
        // Of principals with many grants, those below the prefix of a listing are not read.
        if wish.listing != nil, members(of: request, proposed: true).contains(where: isCrowded) { return true }
        let known = Subject(principal: request.principal, claims: request.claims)
        return arrivals(to: request).contains { grant in
            guard grant.effect == .deny, case .template(let text) = grant.prefix, grant.actions.contains(wish.action)
            else { return false }
            let template = KeyTemplate(text.rawValue)
            return template.expanded(for: known) == nil && template.deniedByteCount(of: wish.key, for: known) != nil
        }
    }

    /// Returns whether the last segment of a key may make a difference.
    func mayNameWholeKeys(_ request: ReplayRequest) -> Bool {
        members(of: request).contains { principal in
            guard let entry = entries[principal] else { return true }
            return !entry.isComplete || entry.wholeKeyBuckets.contains(request.wish.bucket)
        }
    }
}

/// Requests for many keys, which every grant above and below their prefix may concern.
extension ReplayPolicy {
    /// Returns whether the proposal adds or removes a grant that may concern some keys of a request.
    func isConcerned(_ request: ReplayRequest) -> Bool {
        let area = request.wish.area ?? KeyArea(prefix: request.wish.place)
        let moved = members(of: request, proposed: false).symmetricDifference(members(of: request, proposed: true))
        return moved.contains(where: isCrowded)
            || (arrivals(to: request) + departures(from: request)).contains { reaches($0, area, request) }
    }

    /// Returns whether a request for many keys depends on something that was not read, or that the ledger does not
    /// record: grants of principals that have many, claims that a template uses, or the role of temporary credentials.
    func lacksRows(for request: ReplayRequest) -> Bool {
        guard let area = request.wish.area else { return false }
        if members(of: request).contains(where: isCrowded) { return true }
        if case .session = request.wish, let bucket = buckets[request.wish.bucket],
            credentials[bucket.credentialID]?.sessionRole == nil
        {
            return true
        }
        func isUnknown(_ grant: Grant) -> Bool {
            grant.prefix.expanded(for: request.subject) == nil && reaches(grant, area, request)
        }
        // Denies of groups that the caller is in have been decided with the claims of the time.
        return arrivals(to: request).contains { $0.effect == .deny && isUnknown($0) }
            || members(of: request).compactMap { entries[$0] }.contains { entry in
                (entry.present.grants + entry.proposed.grants).contains { grant in
                    grant.effect == .allow && grant.bucket == request.wish.bucket && isUnknown(grant)
                }
            }
    }

    /// Whether not all grants of a principal were read.
    private func isCrowded(_ principal: Principal) -> Bool { entries[principal]?.isComplete != true }

    /// Whether a grant in the bucket is for an action of a request, and may cover some of its keys. A template covers
    /// none outside the text before its first variable.
    private func reaches(_ grant: Grant, _ area: KeyArea, _ request: ReplayRequest) -> Bool {
        let prefix =
            grant.prefix.expanded(for: request.subject) ?? ExactText(KeyTemplate(grant.prefix.text).beginning)
        return !grant.actions.isDisjoint(with: request.wish.actions)
            && KeyArea(prefix: prefix).intersection(area) != nil
    }

    /// Returns the grants that the proposal gives to a caller: new ones, and those of groups that the caller would
    /// join.
    private func arrivals(to request: ReplayRequest) -> [Grant] {
        let members = members(of: request, proposed: true)
        var grants = proposal.incoming.filter { members.contains($0.principal) && $0.bucket == request.wish.bucket }
        for group in members.subtracting(self.members(of: request, proposed: false)) {
            entries[group]?.proposed.forEachGrant(in: request.wish.bucket) { grants.append($0.grant) }
        }
        return grants
    }

    /// Returns the grants that the proposal takes from a caller: those that go, and those of groups that the caller
    /// would leave.
    private func departures(from request: ReplayRequest) -> [Grant] {
        let members = members(of: request, proposed: false)
        var grants = outgoingGrants.filter { members.contains($0.principal) && $0.bucket == request.wish.bucket }
        for group in members.subtracting(self.members(of: request, proposed: true)) {
            entries[group]?.present.forEachGrant(in: request.wish.bucket) { grants.append($0.grant) }
        }
        return grants
    }
}

extension Bucket {
    /// The credential that signs links to the bucket's CDN, if it names one.
    fileprivate var cdnCredentialIDs: [UUID] { publicEndpoints[.cdn]?.signing.map { [$0.credentialID] } ?? [] }

    /// Returns the bucket at the address that a credential signs for.
    fileprivate func signed(by credentialID: UUID) -> Bucket {
        guard cdnCredentialIDs.contains(credentialID), var place = at(.cdn) else { return self }
        // The request that was recorded names no address, and gets the default one.
        place.publicEndpoints[.default] = nil
        return place
    }
}
