import FoundationEssentials

extension Explainer {
    /// The part of policy that applies to a request, at one moment.
    struct State {
        var policy: AccessPolicy
        var members: [Explanation.Member]
        var moment: PolicyMoment?
        var isCurrent: Bool
    }

    /// Reads committed policy, or policy at a past time.
    func state(
        for request: IssueRequest, _ question: ExplainQuestion
    ) async throws(GatewayError) -> State {
        let caller = question.subject.principal
        try await cache.advance()
        guard let instant = question.at else {
            let present = try await cache.access(
                of: caller, groups: question.groups, to: request.bucket, key: request.key, listing: request.listing)
            let members = Self.members(
                of: caller, named: question.groups, inRows: present.principals.map(\.principal).filter(\.isGroup))
            let moment = try await history.moment(ofChange: present.position.sequence)
            return State(policy: present, members: members, moment: moment, isCurrent: true)
        }
        guard instant <= now() else {
            throw .invalidArgument(field: "at", reason: "The time must not be in the future.")
        }
        guard let moment = try await history.moment(at: instant) else {
            throw .invalidArgument(field: "at", reason: "There was no policy at that time.")
        }
        // Present grants play no part, so that their number does not matter.
        let present = try await cache.access(of: caller, groups: question.groups, to: request.bucket, key: nil)
        return try await state(
            after: moment, of: caller, named: question.groups, for: request, like: present)
    }

    /// Reads policy as it was after a change. Bucket, credential and quotas are taken from `present`.
    func state(
        after moment: PolicyMoment, of caller: Principal, named groups: [Principal], for request: IssueRequest,
        like present: AccessPolicy
    ) async throws(GatewayError) -> State {
        let rows = try await history.groups(of: caller, after: moment.sequence)
        let members = Self.members(of: caller, named: groups, inRows: rows)
        let grants = try await history.grants(
            of: members.map(\.principal), in: request.bucket, for: request.key, listing: request.listing?.folder,
            after: moment.sequence)
        let principals = members.map { member in
            let quotas = present.principals.first { $0.principal == member.principal }?.quotas ?? []
            return PrincipalPolicy(principal: member.principal, rows: PrincipalRows(quotas: quotas))
        }
        let policy = present.replacing(principals: principals, literalGrants: grants)
        return State(policy: policy, members: members, moment: moment, isCurrent: false)
    }

    /// Returns all principals that a caller acts as, without duplicates.
    private static func members(
        of caller: Principal, named: [Principal], inRows: [Principal]
    ) -> [Explanation.Member] {
        var members = [Explanation.Member(principal: caller, origin: .caller)]
        func add(_ principal: Principal, _ origin: Explanation.Origin) {
            guard !members.contains(where: { $0.principal == principal }) else { return }
            members.append(.init(principal: principal, origin: origin))
        }
        for group in named where group.isGroup { add(group, .credential) }
        for group in inRows where group.isGroup { add(group, .membership) }
        add(.anyone, .everyone)
        return members
    }
}

extension AccessPolicy {
    /// Returns every matching grant with the result that the decision would have if it were the only grant.
    func explainedMatches(
        of request: IssueRequest, for subject: Subject, from address: IPAddress?, at instant: Date
    ) -> [Explanation.Match] {
        matches(of: request, for: subject).map { grant, prefix in
            let decision = decide(
                request, for: subject, under: holding(only: grant), sourceAddress: address, now: instant)
            let outcome: Explanation.Match.Outcome =
                switch decision {
                case .permit: .permits
                // A deny grant outside its validity period leaves no matching grant.
                case .refuse(let refusal) where grant.effect == .deny:
                    refusal.grant == nil ? .fails(.conditionFailed(.validity(of: grant, at: instant))) : .denies
                case .refuse(let refusal): .fails(refusal.error)
                }
            return Explanation.Match(grant: grant, prefix: prefix, outcome: outcome)
        }
    }

    /// Returns every matching grant, deny grants first, with its prefix expanded for the subject.
    func matches(of request: IssueRequest, for subject: Subject) -> [(grant: Grant, prefix: ExactText)] {
        var found: [Match] = []
        forEachMatch(of: request.action, on: request.key, in: request.bucket, for: subject) { found.append($0) }
        return found.sorted { left, right in
            let effect = left.row.grant.effect
            return effect == right.row.grant.effect ? left < right : effect == .deny
        }.map(\.row.grant).map { ($0, $0.expandedPrefix(for: subject) ?? ExactText($0.prefix.text)) }
    }

    private func holding(only grant: Grant) -> AccessPolicy {
        let principals = principals.map {
            PrincipalPolicy(principal: $0.principal, rows: PrincipalRows(quotas: $0.quotas))
        }
        return replacing(principals: principals, literalGrants: [grant])
    }

    /// Returns the quotas that count a request, sorted by identifier, with the holder whose use each counts.
    func holdings(for request: IssueRequest) -> [QuotaHolding] {
        guard let caller = principals.first?.principal else { return [] }
        return holdings(of: caller) { $0.applies(to: request) }
    }
}
