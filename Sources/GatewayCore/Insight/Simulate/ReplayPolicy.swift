import Foundation

/// Policy as it is and as it would be, for the callers of some issuances. Bounded: when it is full it begins anew.
struct ReplayPolicy {
    /// A principal's rows, laid out as they are and as they would be.
    struct Entry {
        /// Groups that rows put it in.
        let groups: [Principal]
        /// Groups that rows would put it in.
        let proposedGroups: [Principal]
        let present: PrincipalPolicy
        let proposed: PrincipalPolicy
        /// Buckets in which a grant, as it is or would be, is for one whole key.
        let wholeKeyBuckets: Set<BucketName>
        var isComplete: Bool { present.isComplete }
    }

    /// Most principals that are held, most places, and most grants of all principals.
    private static let maxEntries = 20_000
    private static let maxGrants = 50_000
    /// Most keys of one load.
    private static let chunk = 500
    /// Principals with more are looked up by place, so that those of one chunk fit.
    private static let literalGrantLimit = 32

    private let source: any PolicySource
    private let proposal: PolicyProposal
    private var entries: [Principal: Entry] = [:]
    private var grantCount = 0
    private var places: [GrantPlace: [Grant]] = [:]
    private var buckets: [BucketName: Bucket] = [:]
    private var credentials: [UUID: StorageCredential] = [:]
    /// Grants that ask where a request comes from, which no ledger knows: here they do not.
    private(set) var askingForSource: Set<UUID> = []
    /// The first state that was read.
    private(set) var position: PolicyPosition?

    init(source: any PolicySource, proposal: PolicyProposal) {
        self.source = source
        self.proposal = proposal
    }

    /// Loads what some issuances need.
    mutating func prepare(_ requests: [ReplayRequest]) async throws(GatewayError) {
        if entries.count > Self.maxEntries || places.count > Self.maxEntries || grantCount > Self.maxGrants {
            entries = [:]
            places = [:]
            grantCount = 0
            askingForSource = []
        }
        try await load(Set(requests.map(\.principal)).union([.anyone]))
        var groups = Set(requests.compactMap(\.matchedGroup))
        for request in requests {
            groups.formUnion(entries[request.principal]?.groups ?? [])
            groups.formUnion(entries[request.principal]?.proposedGroups ?? [])
        }
        try await load(groups)
        try await loadBuckets(Set(requests.map(\.request.bucket)))
        try await loadPlaces(requests)
    }

    private mutating func load(_ principals: Set<Principal>) async throws(GatewayError) {
        var missing = principals.filter { entries[$0] == nil }[...]
        while !missing.isEmpty {
            let keys = missing.prefix(Self.chunk).map { PolicyKey.principal($0) }
            missing = missing.dropFirst(Self.chunk)
            let load = try await source.load(keys, literalGrantLimit: Self.literalGrantLimit)
            position = position ?? load.position
            for case (.principal(let principal), .principal(let rows)) in zip(keys, load.rows) {
                entries[principal] = entry(of: principal, rows)
            }
        }
    }

    private mutating func entry(of principal: Principal, _ rows: PrincipalRows) -> Entry {
        let outgoing = proposal.outgoing
        var present = rows
        present.grants = rows.grants.map { withoutSource($0) }
        var proposed = present
        proposed.grants.removeAll { outgoing.contains($0.id) }
        proposed.grants += proposal.incoming.filter { $0.principal == principal }.map { withoutSource($0) }
        let whole = (present.grants + proposed.grants).filter(\.prefix.isWholeKey).map(\.bucket)
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
            for case .bucket(let bucket?) in try await source.load(missing, literalGrantLimit: 1).rows {
                buckets[bucket.name] = bucket
            }
        }
        let ids = Set(names.compactMap { buckets[$0]?.credentialID }).filter { credentials[$0] == nil }
        if !ids.isEmpty {
            let load = try await source.load(ids.map { .credential($0) }, literalGrantLimit: 1)
            for case .credential(let credential?) in load.rows { credentials[credential.id] = credential }
        }
    }

    /// Loads grants by place for principals that have too many to hold.
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
                places[place] = grants.map { withoutSource($0) }
            }
        }
    }

    private func placesOfInterest(to request: ReplayRequest) -> [GrantPlace] {
        let crowded = members(of: request, proposed: false).union(members(of: request, proposed: true))
            .filter { entries[$0]?.isComplete == false }
        guard !crowded.isEmpty else { return [] }
        let prefixes = request.request.key.candidatePrefixes
        return crowded.flatMap { principal in
            prefixes.map { GrantPlace(principal: principal, bucket: request.request.bucket, prefix: $0) }
        }
    }

    /// All that a caller is, as far as rows and the ledger tell.
    private func members(of request: ReplayRequest, proposed: Bool) -> Set<Principal> {
        let entry = entries[request.principal]
        var members = Set((proposed ? entry?.proposedGroups : entry?.groups) ?? [])
        members.formUnion([request.principal, .anyone])
        // A group that no row names is the credential's, and stays.
        if let matched = request.matchedGroup, entry?.groups.contains(matched) != true { members.insert(matched) }
        return members
    }

    /// What decides about a request, as policy is or would be.
    func policy(for request: ReplayRequest, proposed: Bool) -> AccessPolicy {
        let others = members(of: request, proposed: proposed).subtracting([request.principal])
        let principals = [request.principal] + others.sorted { $0.rawValue < $1.rawValue }
        let outgoing = proposed ? proposal.outgoing : []
        let literals = placesOfInterest(to: request)
            .filter { principals.contains($0.principal) }
            .flatMap { places[$0] ?? [] }
            .filter { !outgoing.contains($0.id) }
        let bucket = buckets[request.request.bucket]
        return AccessPolicy(
            position: position ?? PolicyPosition(sequence: 0, tag: UUID()),
            principals: principals.compactMap { proposed ? entries[$0]?.proposed : entries[$0]?.present },
            literalGrants: literals, bucket: bucket, credential: bucket.flatMap { credentials[$0.credentialID] },
            scopes: [])
    }

    /// Whether a grant that would be new denies the request or does not, by a claim that no ledger knows.
    func mightBeDenied(_ request: ReplayRequest) -> Bool {
        let wish = request.request
        let members = members(of: request, proposed: true)
        return proposal.incoming.contains { grant in
            guard grant.effect == .deny, case .template(let text) = grant.prefix, members.contains(grant.principal),
                grant.bucket == wish.bucket, grant.actions.contains(wish.action)
            else { return false }
            let template = KeyTemplate(text.rawValue)
            let known = Subject(principal: request.principal, claims: request.claims)
            return template.expanded(for: known) == nil && template.deniedByteCount(of: wish.key, for: known) != nil
        }
    }

    /// Whether the last segment of a key may make a difference.
    func mayNameWholeKeys(_ request: ReplayRequest) -> Bool {
        let members = members(of: request, proposed: false).union(members(of: request, proposed: true))
        return members.contains { principal in
            guard let entry = entries[principal] else { return true }
            return !entry.isComplete || entry.wholeKeyBuckets.contains(request.request.bucket)
        }
    }
}

/// An issuance, as the request that it answered.
struct ReplayRequest {
    let row: RecordedIssuance
    let request: IssueRequest
    let principal: Principal
    /// The group that matched, where one did.
    let matchedGroup: Principal?
    /// What the template that decided tells of the caller.
    let claims: [String: String]

    /// Reads a row; `nil` where it cannot be asked again.
    init?(_ row: RecordedIssuance, template: KeyPrefix?) {
        guard let principal = try? Principal(row.principal), let request = try? IssueRequest(recorded: row) else {
            return nil
        }
        self.row = row
        self.request = request
        self.principal = principal
        matchedGroup = (try? Principal(row.matchedPrincipal)).flatMap { $0.isGroup ? $0 : nil }
        claims = template?.claims(in: request.key) ?? [:]
    }
}

extension KeyPrefix {
    /// Whether it covers one key only.
    fileprivate var isWholeKey: Bool { !text.isEmpty && text.utf8.last != UInt8(ascii: "/") }
}
