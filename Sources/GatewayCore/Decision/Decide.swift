public import Foundation
import Signing

/// Longest life of a URL that any scheme here can express, in seconds.
public let schemeMaxTTL = 604_800

/// Decides a request. The one place that does: issuing, explaining and simulating ask here.
///
/// A matching grant that denies refuses. Otherwise the most specific grant whose conditions hold permits: the one whose
/// prefix covers most bytes, a literal before a template, the caller's own before a group's before that of `*`, and then
/// the smallest identifier. Where grants match and the conditions of none hold, the refusal names what the most specific one
/// misses. Where none matches, or there is no such bucket, it says nothing at all.
///
/// The life of the URL is cut, not refused, where it exceeds a limit. The end of the caller's own credential is no limit:
/// it proves who asks, and that proof is complete when the URL is made.
/// - Parameters:
///   - request: What is asked for.
///   - subject: Who asks; must be the first principal of `policy`.
///   - policy: The rows that bear on it.
///   - sourceAddress: Where the request came from; `nil` where that cannot be known.
///   - now: The clock that the store's is compared with.
public func decide(
    _ request: IssueRequest, for subject: Subject, under policy: AccessPolicy, sourceAddress: IPAddress?, now: Date
) -> Decision {
    guard let row = policy.shared.bucket,
        subject.mayAsk(for: request.action, on: request.key, in: request.bucket)
    else { return .refuse(Refusal(.accessDenied)) }
    let bucket = if let binding = request.binding { BucketRow(row, signedBy: binding) } else { row }
    let circumstances = Circumstances(sourceAddress: sourceAddress, now: now)
    var match: Match?
    var rest: [Match] = []
    var deny: GrantRow?
    policy.forEachMatch(of: request, for: subject) { found in
        if found.row.grant.effect == .deny {
            if deny == nil, circumstances.isDuring(found.row.grant) { deny = found.row }
        } else if match == nil {
            match = found
        } else {
            rest.append(found)
        }
    }
    if let deny { return .refuse(Refusal(.accessDenied, grant: deny.grant)) }
    if let only = match, !rest.isEmpty {
        rest.append(only)
        rest.sort(by: >)
        match = rest.popLast()
    }
    var firstFailure: Refusal?
    while let asked = match {
        guard let failure = circumstances.failure(of: asked.row, for: request, in: bucket) else {
            return permit(request, by: asked, in: bucket, for: subject, under: policy, circumstances)
        }
        firstFailure = firstFailure ?? Refusal(failure, grant: asked.row.grant)
        match = rest.popLast()
    }
    return .refuse(firstFailure ?? Refusal(.accessDenied))
}

private func permit(
    _ request: IssueRequest, by match: Match, in row: BucketRow, for subject: Subject, under policy: AccessPolicy,
    _ circumstances: Circumstances
) -> Decision {
    let grant = match.row
    // Nothing the caller can do: an admin has to renew the credential.
    guard let credential = policy.shared.credential,
        let life = circumstances.life(of: request, by: grant, in: row, credential: credential)
    else { return .refuse(Refusal(.unusableCredential(of: row.bucket), grant: grant.grant)) }
    let binding = row.binding
    let size = binding.size(of: request, limit: grant.grant.conditions.maxBytes)
    var charges = policy.charges(for: request, reserving: size?.maxBytes ?? 0)
    let reserves = charges.contains { $0.quota.metric == .bytes }
    if reserves, size == nil {
        let mayState = binding.bindsStatedLength(of: request)
        let error = mayState ? .conditionFailed(.contentLengthRequired) : binding.unboundSize(of: request)
        return .refuse(Refusal(error, grant: grant.grant))
    }
    if request.needsLengthOfParts, !binding.bindsLength, policy.limitsBytes(of: request) {
        return .refuse(Refusal(binding.unboundSize(of: request), grant: grant.grant))
    }
    if let ticket = subject.ticket { charges.append(ticket.charge) }
    return .permit(
        Permit(
            match: match,
            bucket: row,
            credential: credential,
            life: life,
            signedAt: circumstances.signedAt,
            headers: request.boundHeaders(by: binding, size: size),
            query: request.boundQuery(
                by: binding, in: row.bucket, forcesDownload: grant.grant.conditions.forceDownload == true),
            size: size,
            charges: charges,
            reservedBytes: reserves ? size?.maxBytes : nil
        )
    )
}

/// A grant that covers key and action, in the order in which grants are asked.
struct Match: Comparable {
    let row: GrantRow
    let byteCount: Int

    static func < (left: Match, right: Match) -> Bool {
        if left.byteCount != right.byteCount { return left.byteCount > right.byteCount }
        let (left, right) = (left.row.grant, right.row.grant)
        if left.prefix.isTemplate != right.prefix.isTemplate { return right.prefix.isTemplate }
        let (leftBreadth, rightBreadth) = (left.principal.breadth, right.principal.breadth)
        return leftBreadth != rightBreadth ? leftBreadth < rightBreadth : left.id < right.id
    }

    static func == (left: Match, right: Match) -> Bool {
        left.byteCount == right.byteCount && left.row.grant.id == right.row.grant.id
    }
}

extension Principal {
    /// How many it stands for, as a rank: one user, a group, everyone.
    fileprivate var breadth: Int { isUser ? 0 : isGroup ? 1 : 2 }
}

extension AccessPolicy {
    /// Hands out every grant that covers bucket, action and key for a subject.
    @inline(__always)
    func forEachMatch(of request: IssueRequest, for subject: Subject, _ body: (Match) -> Void) {
        func consider(_ row: GrantRow) {
            guard row.covers(request.action), row.grant.bucket == request.bucket,
                let byteCount = row.matchedByteCount(of: request.key, for: subject)
            else { return }
            body(Match(row: row, byteCount: byteCount))
        }
        forEachPrincipal { $0.forEachCandidate(in: request.bucket, key: request.key, consider) }
        for row in placedGrants { consider(row) }
    }

    /// Whether a quota counts the bytes of what a request is a step of.
    fileprivate func limitsBytes(of request: IssueRequest) -> Bool {
        principals.contains { $0.quotas.contains { $0.metric == .bytes && $0.covers(request) } }
    }

    /// What quotas take for a request, in the order of their identifiers.
    fileprivate func charges(for request: IssueRequest, reserving bytes: Int64) -> [QuotaCharge] {
        guard let caller = (caller ?? shared.principals.first)?.principal else { return [] }
        var charges: [QuotaCharge] = []
        forEachPrincipal { principal in
            for quota in principal.quotas where quota.applies(to: request) {
                let amount = quota.metric == .urls ? 1 : bytes
                charges.append(QuotaCharge(quota: quota, holder: quota.holder(for: caller), amount: amount))
            }
        }
        if charges.count > 1 { charges.sort { $0.quota.id < $1.quota.id } }
        return charges
    }
}

extension Quota {
    /// Whose use adds up when this caller is charged.
    func holder(for caller: Principal) -> Principal {
        sharing == .each ? caller : principal
    }

    /// Whether it counts a request.
    func applies(to request: IssueRequest) -> Bool {
        covers(request) && (metric == .urls ? request.countsAsURL : request.carriesBytes)
    }

    fileprivate func covers(_ request: IssueRequest) -> Bool {
        (bucket == nil || bucket == request.bucket) && (action == nil || action == request.action)
    }
}
