import FoundationEssentials

/// Asks the decision function what a principal may do with one key, although the requests are not known.
///
/// It asks for the request that meets the fewest conditions and, for each grant, for one that meets all of the grant's.
/// It asks on behalf of every caller that templates tell apart: one whose claims are absent, one whose claims lead
/// elsewhere, and for each template one whose identity leads to the key.
struct AccessJudge {
    let principal: Principal
    /// The rows of the principal or, for a group and for `*`, of a member that has no others.
    let policy: AccessPolicy
    let bucket: BucketName
    let key: ObjectKey
    let now: Date

    /// A caller who acts as the principal.
    private struct Stand {
        var subject: Subject
        var policy: AccessPolicy
    }

    /// Returns what the principal may do by an action; `nil` if no grant bears on it.
    func verdict(on action: Action) throws(GatewayError) -> AccessVerdict? {
        let grants = (policy.principals.flatMap(\.grants) + policy.literalGrants).filter {
            $0.bucket == bucket && $0.actions.contains(action)
        }
        let stands = try stands(under: grants.filter(\.prefix.isTemplate))
        let plain = try request(action)
        var matches: [UUID: Grant] = [:]
        var answers: [Verdict<Permit>] = []
        for stand in stands {
            for match in stand.policy.matches(of: plain, for: stand.subject) { matches[match.grant.id] = match.grant }
            answers.append(try answer(toFewest: action, under: grants, as: stand))
        }
        guard let first = answers.first, !matches.isEmpty else { return nil }
        var verdict = AccessVerdict(first, of: action)
        guard !answers.allSatisfy(\.isPermit) else { return verdict }
        var openings: [Verdict<Permit>] = []
        for (stand, fewest) in zip(stands, answers) {
            let opening = fewest.isPermit ? fewest : try answer(toBest: action, as: stand)
            if opening.isPermit { openings.append(opening) }
        }
        guard let opening = openings.first else { return verdict }
        verdict.outcome = .conditional
        verdict.decidedBy = opening.decidedBy
        if openings.count < stands.count { verdict.conditions.insert(.template) }
        for grant in matches.values where grant.effect == .allow {
            verdict.conditions.formUnion(grant.conditions.bearing(on: action))
        }
        if verdict.conditions.isEmpty { verdict.conditions.insert(.template) }
        return verdict
    }
}

// MARK: - Requests

extension AccessJudge {
    /// Returns the narrowest listing that shows the key.
    func listing() throws(GatewayError) -> Listing? { try request(.listObjects).listing }

    /// Decides the request that meets the fewest conditions.
    private func answer(
        toFewest action: Action, under grants: [Grant], as stand: Stand
    ) throws(GatewayError) -> Verdict<Permit> {
        guard action == .putObject else { return decision(on: try request(action), from: nil, as: stand) }
        let patterns = grants.flatMap { $0.conditions.contentTypes ?? [] }
        let type = Self.type { type in !patterns.contains(where: type.isCovered) }
        let long = try request(action, type: type, length: IssueRequest.maxContentLength)
        let answer = decision(on: long, from: nil, as: stand)
        // Where the scheme cannot bind a length, stating one is refused whatever the grant.
        guard case .refuse(let refusal) = answer, case .notEnforceable = refusal.error else { return answer }
        return decision(on: try request(action, type: type, length: nil), from: nil, as: stand)
    }

    /// Decides requests that meet all conditions of a matching grant, until one is permitted.
    private func answer(toBest action: Action, as stand: Stand) throws(GatewayError) -> Verdict<Permit> {
        var answer = decision(on: try request(action), from: nil, as: stand)
        for match in stand.policy.matches(of: try request(action), for: stand.subject) {
            let conditions = match.grant.conditions
            guard match.grant.effect == .allow, !answer.isPermit else { continue }
            let source = conditions.sourceCIDRs?.first.flatMap { text in
                text.utf8.split(separator: UInt8(ascii: "/")).first.flatMap { IPAddress(String(Substring($0))) }
            }
            let type = Self.type { type in conditions.contentTypes?.contains(where: type.isCovered) ?? true }
            for length: Int64? in action == .putObject ? [0, nil] : [nil] where !answer.isPermit {
                let request = try request(
                    action,
                    type: conditions.contentTypes?.first.map { $0.utf8.last == UInt8(ascii: "*") ? type : $0 } ?? type,
                    length: length, hasMD5: true)
                answer = decision(on: request, from: source, as: stand)
            }
        }
        return answer
    }

    private func decision(on request: IssueRequest, from source: IPAddress?, as stand: Stand) -> Verdict<Permit> {
        decide(request, for: stand.subject, under: stand.policy, sourceAddress: source, now: now)
    }

    private func request(
        _ action: Action, type: String = "application/octet-stream", length: Int64? = 0, hasMD5: Bool = false
    ) throws(GatewayError) -> IssueRequest {
        var fields = IssueRequest.Fields()
        fields.action = action.rawValue
        fields.bucket = bucket.rawValue
        if action == .listObjects { fields.prefix = key.rawValue } else { fields.key = key.rawValue }
        if action == .putObject {
            fields.contentType = type
            fields.contentLength = length
            if hasMD5 { fields.contentMD5 = Data(count: 16).base64EncodedString() }
            // A bucket that closes uploads demands a SHA-256 and at least one byte of each.
            if policy.bucket?.binding.closesUploads == true {
                fields.checksumSHA256 = Data(count: 32).base64EncodedString()
                fields.contentLength = max(1, length ?? 1)
            }
        }
        return try IssueRequest(fields)
    }

    /// Returns the first of some types that passes a test.
    private static func type(where passes: (MediaType) -> Bool) -> String {
        let bases = ["application", "image", "video", "audio", "text", "font", "model", "message", "multipart"]
        let candidates = (0..<64).map { "x-other/x-\($0)" } + bases.map { $0 + "/x-other" }
        return candidates.first { MediaType($0).map(passes) ?? false } ?? candidates[0]
    }
}

// MARK: - Callers

extension AccessJudge {
    /// Returns a caller for each way in which templates may be filled.
    private func stands(under templates: [Grant]) throws(GatewayError) -> [Stand] {
        let segments = templates.flatMap { $0.prefix.text.utf8.split(separator: UInt8(ascii: "/")) }
        let variables = segments.compactMap { TemplateVariable(segment: $0) }
        let usesClaims = variables.contains { $0 != .subject }
        let isUser = principal.isUser
        let other = elsewhere
        let caller = isUser ? principal : try Principal.user(other)
        // Real values, because a template below the key may deny a listing whatever they are.
        var others: [String: String] = [:]
        for case .claim(let name) in variables { others[name] = other }
        var stands = [stand(Subject(principal: caller))]
        guard usesClaims || !isUser else { return stands }
        if usesClaims { stands.append(stand(Subject(principal: caller, claims: others))) }
        if !isUser, variables.contains(.subject) {
            // A name that no segment of a key can be.
            stands.append(stand(Subject(principal: try .user("*"))))
        }
        for template in templates {
            let claims = template.prefix.claims(in: key)
            let name = isUser ? nil : template.prefix.subjectName(in: key)
            guard !claims.isEmpty || name != nil else { continue }
            let subject = Subject(
                principal: try name.map { (name) throws(GatewayError) in try Principal.user(name) } ?? caller,
                claims: others.merging(claims) { _, own in own })
            if template.prefix.matchedByteCount(of: key, for: subject) != nil { stands.append(stand(subject)) }
        }
        return stands
    }

    private func stand(_ subject: Subject) -> Stand {
        guard !principal.isUser else { return Stand(subject: subject, policy: policy) }
        let own = PrincipalPolicy(principal: subject.principal, rows: PrincipalRows())
        return Stand(
            subject: subject,
            policy: policy.replacing(
                principals: [own] + policy.principals.filter { !$0.principal.isUser },
                literalGrants: policy.literalGrants))
    }

    /// A name that is no segment of the key and does not begin with the last one, which a listing may complete.
    private var elsewhere: String {
        let segments = key.rawValue.utf8.split(separator: UInt8(ascii: "/")).map { String(Substring($0)) }
        var name = segments.last?.utf8.first == UInt8(ascii: "s") ? "nobody" : "somebody"
        while segments.contains(name) { name += "-else" }
        return name
    }
}

extension AccessVerdict {
    /// Creates a verdict from a decision that every request gets.
    fileprivate init(_ decision: Verdict<Permit>, of action: Action) {
        let explanation = Explanation(decision)
        self.init(
            action: action, outcome: decision.isPermit ? .allowed : .denied, reason: explanation.reason,
            decidedBy: explanation.decidedBy)
    }
}

extension Verdict {
    fileprivate var isPermit: Bool {
        if case .permit = self { true } else { false }
    }
}

extension Verdict<Permit> {
    fileprivate var decidedBy: Grant? {
        switch self {
        case .permit(let permit): permit.grant
        case .refuse(let refusal): refusal.grant
        }
    }
}

extension GrantConditions {
    /// Returns the conditions that a plain request may fail.
    fileprivate func bearing(on action: Action) -> Set<AccessVerdict.Condition> {
        var conditions: Set<AccessVerdict.Condition> = []
        if sourceCIDRs != nil { conditions.insert(.sourceCIDRs) }
        guard action == .putObject else { return conditions }
        if contentTypes != nil { conditions.insert(.contentTypes) }
        if maxBytes != nil { conditions.insert(.maxBytes) }
        if requireContentMD5 == true { conditions.insert(.requireContentMD5) }
        return conditions
    }
}

extension KeyPrefix {
    /// Returns the name in the place of `${sub}` with which a template covers a key; `nil` if it has no `${sub}`, or
    /// the key is too short.
    fileprivate func subjectName(in key: ObjectKey) -> String? {
        guard case .template(let template) = self else { return nil }
        let slash = UInt8(ascii: "/")
        let segments = template.rawValue.utf8.split(separator: slash, omittingEmptySubsequences: false)
        let parts = key.rawValue.utf8.split(separator: slash, omittingEmptySubsequences: false)
        for (segment, part) in zip(segments, parts) where TemplateVariable(segment: segment) == .subject {
            return String(Substring(part))
        }
        return nil
    }
}
