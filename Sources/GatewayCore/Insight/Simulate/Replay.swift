import FoundationEssentials

/// A replay in progress, with its counts and a cache of decided questions. All of its memory is bounded.
struct Replay {
    /// The inputs that a decision depends on.
    private struct Question: Hashable {
        let principal: Principal
        let namedGroup: Principal?
        let claims: [String: String]
        let bucket: BucketName
        /// The credential that signed, which tells a link to a CDN from one to the store.
        let credentialID: UUID
        /// The prefix, or the key, or the part before its last segment if that segment makes no difference.
        let place: ExactText
        /// Whether all keys below the place were asked for together.
        let isArea: Bool
        let actions: Set<Action>
        /// The method, which tells the steps of an upload in parts apart.
        let method: String?
        let delivery: String
        let contentType: String?
        let contentLength: Int64?
        let hasMD5: Bool
        let hasSHA256: Bool
    }

    private enum Outcome {
        case same
        case refused(Refusal)
        case refusedAlready
        case permittedAnew
        case uncertain
    }

    /// Maximum number of cached answers.
    private static let maxAnswers = 20_000

    private(set) var examined = 0
    private let proposed: Set<UUID>
    private var policy: ReplayPolicy
    private let now: Date
    private var answers: [Question: Outcome] = [:]
    private var templates: [UUID: [PastTemplate]] = [:]
    private var memberships: [PolicyProposal.Membership: [Range<Int64>]] = [:]
    private var counts = (refused: Int64(0), already: Int64(0), anew: Int64(0), uncertain: Int64(0))
    private var principals: [ExactText: Int64] = [:]
    private var grants: [ExactText: Int64] = [:]
    private var hasMoreShares = false
    private var examples: [Simulation.Example] = []
    private var examinedBackTo: Date?

    init(proposal: PolicyProposal, policy: ReplayPolicy, now: Date) {
        self.policy = policy
        self.now = now
        proposed = Set(proposal.incoming.map(\.id))
    }

    /// Decides some issuances again and counts the results.
    mutating func take(
        _ rows: [RecordedIssuance], history source: any ReplaySource
    ) async throws(GatewayError) {
        examined += rows.count
        if let oldest = rows.map(\.issuedAt).min() { examinedBackTo = min(examinedBackTo ?? oldest, oldest) }
        try await readTemplates(of: rows, from: source)
        try await readMemberships(of: rows, from: source)
        let requests = rows.map { row in
            let template = templates[row.grantID]?.prefix(after: row.policySequence)
            return ReplayRequest.all(of: row, template: template, namedGroup: namedGroup(of: row))
        }
        try await policy.prepare(requests.flatMap { $0 })
        for (row, requests) in zip(rows, requests) { count(outcome(of: requests), row) }
    }

    /// The outcome of an issuance that answered several requests, which is permitted if all of them are. One that
    /// cannot be decided again is uncertain.
    private mutating func outcome(of requests: [ReplayRequest]) -> Outcome {
        var (refusal, mayDiffer, isNew, wasRefused) = (Refusal?.none, requests.isEmpty, false, false)
        for request in requests {
            switch outcome(of: request) {
            case .same: break
            case .refused(let found): refusal = refusal ?? found
            case .refusedAlready: wasRefused = true
            case .permittedAnew: isNew = true
            case .uncertain: mayDiffer = true
            }
        }
        if wasRefused || isNew && refusal != nil { return .refusedAlready }
        if let refusal { return .refused(refusal) }
        return mayDiffer ? .uncertain : isNew ? .permittedAnew : .same
    }

    private mutating func readTemplates(
        of rows: [RecordedIssuance], from source: any ReplaySource
    ) async throws(GatewayError) {
        if templates.count > Self.maxAnswers { templates = [:] }
        let unknown = Set(rows.map(\.grantID)).filter { templates[$0] == nil }
        guard !unknown.isEmpty else { return }
        let found = try await source.templates(among: Array(unknown))
        for id in unknown { templates[id] = found[id] ?? [] }
    }

    private mutating func readMemberships(
        of rows: [RecordedIssuance], from source: any ReplaySource
    ) async throws(GatewayError) {
        if memberships.count > Self.maxAnswers { memberships = [:] }
        let unknown = Set(rows.compactMap(\.matchedMembership)).filter { memberships[$0] == nil }
        guard !unknown.isEmpty else { return }
        let found = try await source.memberships(among: Array(unknown))
        for membership in unknown { memberships[membership] = found[membership] ?? [] }
    }

    /// The group by which an issuance was permitted, if no row put its caller into it then: the credential named it.
    private func namedGroup(of row: RecordedIssuance) -> Principal? {
        guard let membership = row.matchedMembership else { return nil }
        let times = memberships[membership] ?? []
        return times.contains { $0.contains(row.policySequence) } ? nil : membership.group
    }

    private mutating func outcome(of request: ReplayRequest) -> Outcome {
        let question = question(of: request)
        if let known = answers[question] { return known }
        if answers.count >= Self.maxAnswers { answers = [:] }
        let outcome = decide(request)
        answers[question] = outcome
        return outcome
    }

    private func question(of request: ReplayRequest) -> Question {
        let (wish, sample) = (request.wish, request.wish.sample)
        var place = wish.place.rawValue
        // Grants below the prefix of a listing affect it too.
        if case .object(let object) = wish, object.listing == nil, !policy.mayNameWholeKeys(request) {
            let end = place.utf8.lastIndex(of: UInt8(ascii: "/")).map { place.utf8.index(after: $0) }
            place = String(place[..<(end ?? place.startIndex)])
        }
        return Question(
            principal: request.principal, namedGroup: request.namedGroup, claims: request.claims,
            bucket: wish.bucket, credentialID: request.row.credentialID, place: ExactText(place),
            isArea: wish.area != nil, actions: wish.actions, method: sample?.httpMethod,
            delivery: request.row.delivery, contentType: sample?.contentType?.text,
            contentLength: sample?.contentLength, hasMD5: sample?.contentMD5 != nil,
            hasSHA256: sample?.checksumSHA256 != nil)
    }

    private func decide(_ request: ReplayRequest) -> Outcome {
        func isConcerned() -> Bool { policy.isConcerned(request) }
        if policy.lacksRows(for: request) { return isConcerned() ? .uncertain : .same }
        func decision(_ proposed: Bool) -> Verdict<ReplayRequest.Permission> {
            request.decision(under: policy.policy(for: request, proposed: proposed), now: now)
        }
        let (before, after) = (decision(false), decision(true))
        if request.wish.sample?.hasUnknownType == true, Self.failsByType(before) || Self.failsByType(after) {
            return isConcerned() ? .uncertain : .same
        }
        switch (before, after) {
        case (_, .permit) where policy.mightBeDenied(request): return .uncertain
        case (.permit(let before), .permit(let after)):
            // The ledger does not tell which of the keys the holder of temporary credentials needs.
            guard before.scope == after.scope else { return .uncertain }
            // Nor does it tell versions and headers of answers that were asked for.
            if let wanted = before.download, after.download?.refusesMore(than: wanted) == true { return .uncertain }
            guard !policy.askingForSource.isDisjoint(with: after.grants) else { return .same }
            return before.grants == after.grants && proposed.isDisjoint(with: after.grants) ? .same : .uncertain
        case (.permit, .refuse(let refusal)): return .refused(refusal)
        // Such requests may rest on grants of groups that only the caller's credential named.
        case (.refuse(let refusal), _) where request.wish.mayLackGrant(refusal) && isConcerned(): return .uncertain
        case (.refuse, .refuse): return .refusedAlready
        case (.refuse, .permit(let after)):
            return policy.askingForSource.isDisjoint(with: after.grants) ? .permittedAnew : .uncertain
        }
    }

    /// Whether the grants that match ask for another content type.
    private static func failsByType(_ verdict: Verdict<ReplayRequest.Permission>) -> Bool {
        guard case .refuse(let refusal) = verdict else { return false }
        return switch refusal.error {
        case .conditionFailed(.contentType), .conditionFailed(.scriptableContentType): true
        default: false
        }
    }

    private mutating func count(_ outcome: Outcome, _ row: RecordedIssuance) {
        switch outcome {
        case .same: break
        case .refusedAlready: counts.already += 1
        case .permittedAnew: counts.anew += 1
        case .uncertain: counts.uncertain += 1
        case .refused(let refusal):
            counts.refused += 1
            let principal = ExactText(row.principal)
            let isNew = principals[principal] == nil
            hasMoreShares = !Self.add(principal, to: &principals) || hasMoreShares
            hasMoreShares = !Self.add(ExactText(row.grantID.lowercaseText), to: &grants) || hasMoreShares
            guard examples.count < Simulation.maxExamples, isNew || examples.count < Simulation.maxExamples / 2 else {
                return
            }
            examples.append(.init(issuance: row, error: refusal.error, decidedBy: refusal.grant))
        }
    }

    /// Adds one to the count of a name. Returns `false` if the name is new and too many names are already counted.
    private static func add(_ name: ExactText, to counts: inout [ExactText: Int64]) -> Bool {
        guard counts[name] != nil || counts.count < Simulation.maxShares else { return false }
        counts[name, default: 0] += 1
        return true
    }

    /// Copies the counts into a simulation.
    func tell(_ simulation: inout Simulation) {
        simulation.examined = Int64(examined)
        simulation.refused = counts.refused
        simulation.refusedAlready = counts.already
        simulation.permittedAnew = counts.anew
        simulation.uncertain = counts.uncertain
        simulation.principals = Self.shares(principals)
        simulation.grants = Self.shares(grants)
        simulation.hasMoreShares = hasMoreShares
        simulation.examples = examples
        simulation.examinedBackTo = examinedBackTo
        simulation.policySequence = policy.position?.sequence ?? 0
    }

    private static func shares(_ counts: [ExactText: Int64]) -> [Simulation.Share] {
        counts.map { Simulation.Share(name: $0.key.rawValue, count: $0.value) }
            .sorted { $0.count == $1.count ? $0.name < $1.name : $0.count > $1.count }
    }
}

extension RecordedIssuance {
    /// The caller as a member of the group whose grant permitted the issuance; `nil` if it was no group's.
    fileprivate var matchedMembership: PolicyProposal.Membership? {
        guard let group = try? Principal(matchedPrincipal), group.isGroup, let member = try? Principal(principal) else {
            return nil
        }
        return PolicyProposal.Membership(group: group, member: member)
    }
}
