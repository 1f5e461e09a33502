public import FoundationEssentials
import Signing

/// Longest lifetime of a URL that any supported scheme can express, in seconds.
let schemeMaxTTL = 604_800

/// Decides a request for one key or one listing. Issuing, explaining and simulating all call this function. Temporary
/// credentials and cookies, which cover many keys, are decided with a ``SessionBuilder``.
///
/// A matching grant that denies refuses the request. Otherwise, the most specific matching grant whose conditions hold
/// permits it. The most specific grant is the one whose prefix covers most bytes. Ties go to a literal before a
/// template, then to the caller's own grant before a group's and a group's before that of `*`, then to the smallest
/// identifier.
///
/// If grants match but no grant's conditions hold, the refusal states what fails for the most specific one. If no grant
/// matches or the bucket does not exist, the refusal gives no reason. If the bucket cannot be read, the gateway fails
/// callers with a grant in the bucket, and refuses others as if it did not exist.
///
/// A listing is refused if a grant denies listing any key that it may show.
///
/// A lifetime that exceeds a limit is shortened, not refused. One limit is the beginning of a grant that denies the
/// request; from the start of the second in which that is, the request is refused. The expiry of the caller's own
/// credential is not a limit: the credential proves who asks, and that proof is complete when the URL is made.
/// - Parameters:
///   - request: The request.
///   - subject: The user who asks; must be the first principal of `policy`.
///   - policy: The rows that affect the request.
///   - sourceAddress: Address that the request came from; `nil` if it is unknown.
///   - now: Current time of the gateway's clock, which the store compares with its own.
public func decide(
    _ request: IssueRequest, for subject: Subject, under policy: AccessPolicy, sourceAddress: IPAddress?, now: Date
) -> Verdict<Permit> {
    decide(
        request, for: subject, under: policy, Circumstances(sourceAddress: sourceAddress, now: now), besides: Denials())
}

/// Decides a request as ``decide(_:for:under:sourceAddress:now:)`` does. No URL outlives the beginning of further
/// denials.
func decide(
    _ request: IssueRequest, for subject: Subject, under policy: AccessPolicy, _ circumstances: Circumstances,
    besides others: Denials
) -> Verdict<Permit> {
    guard let row = policy.shared.bucket else {
        return .refuse(policy.refusalWithoutBucket(request.bucket, for: subject))
    }
    guard subject.mayAsk(for: request.action, on: request.key, in: request.bucket) else {
        return .refuse(.outsideTicket)
    }
    let bucket = if let binding = request.binding { BucketRow(row, signedBy: binding) } else { row.chosen(by: request) }
    var match: Match?
    var rest: [Match] = []
    var denyStart = others.start
    switch policy.coverage(
        of: request.action, on: request.key, listing: request.listing, in: request.bucket, for: subject, circumstances)
    {
    case .refused(let refusal): return .refuse(refusal)
    case .allowed(let first, let others, let start):
        (match, rest) = (first, others)
        denyStart = earlier(denyStart, start)
    }
    if let only = match, !rest.isEmpty {
        rest.append(only)
        rest.sort(by: >)
        match = rest.popLast()
    }
    var firstFailure: Refusal?
    var largestSize: Int64?
    while let asked = match {
        guard let failure = circumstances.failure(of: asked.row, for: request, in: bucket) else {
            return permit(
                request, by: asked, in: bucket, for: subject, under: policy, circumstances, until: denyStart)
        }
        firstFailure = firstFailure ?? Refusal.unmet(failure, of: asked.row.grant)
        if case .entityTooLarge(let size) = failure { largestSize = max(largestSize ?? size, size) }
        match = rest.popLast()
    }
    return .refuse((firstFailure ?? .noGrant).allowing(upTo: largestSize))
}

private func permit(
    _ request: IssueRequest, by match: Match, in row: BucketRow, for subject: Subject, under policy: AccessPolicy,
    _ circumstances: Circumstances, until denyStart: Date?
) -> Verdict<Permit> {
    let grant = match.row
    // The caller can do nothing: an admin has to renew the credential.
    guard let credential = policy.shared.credential(for: row),
        let wanted = circumstances.life(of: request, by: grant, in: row, credential: credential, until: denyStart)
    else { return .refuse(.failed(.unusableCredential(of: row.bucket), of: grant.grant)) }
    guard let life = wanted.expressed(in: row) else {
        let reason = "Links to the bucket's CDN end with a minute; ask for a life of at least 60 seconds."
        return .refuse(.unmet(.notEnforceable(reason: reason), of: grant.grant))
    }
    let binding = row.binding
    let size = binding.size(of: request, limit: grant.grant.conditions.maxBytes)
    let charges = policy.charges(for: subject, of: request, reserving: size?.maxBytes ?? 0)
    let reserves = charges.contains { $0.quota.metric == .bytes }
    if reserves, size == nil {
        let mayState = binding.bindsStatedLength(of: request)
        let error = mayState ? .conditionFailed(.contentLengthRequired) : binding.unboundSize(of: request)
        return .refuse(.unmet(error, of: grant.grant))
    }
    if request.needsLengthOfParts, !binding.bindsLength || request.startsBareParts, policy.limitsBytes(of: request) {
        let error = binding.bindsLength ? .conditionFailed(.contentLengthRequired) : binding.unboundSize(of: request)
        return .refuse(.unmet(error, of: grant.grant))
    }
    return .permit(
        Permit(
            match: match,
            bucket: row,
            credential: credential,
            life: life,
            decidedAt: circumstances.second,
            headers: request.boundHeaders(by: binding, in: row.bucket, size: size),
            query: request.boundQuery(
                by: binding, in: row.bucket, forcesDownload: grant.grant.conditions.forceDownload == true),
            sourceAddress: row.bindsSourceAddress ? circumstances.sourceAddress : nil,
            size: size,
            charges: charges,
            reservedBytes: reserves ? size?.maxBytes : nil
        )
    )
}

/// A grant that covers key and action. A more specific match sorts before a less specific one.
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
    /// Rank of the principal by the users that it covers: 0 for one user, 1 for a group, 2 for everyone.
    fileprivate var breadth: Int { isUser ? 0 : isGroup ? 1 : 2 }
}

/// What the grants say about an action on a key, before any condition is looked at.
enum Coverage {
    /// No grant allows it, or one denies it. The caller learns nothing else, not even whether the bucket exists.
    indirect case refused(Refusal)
    /// The grants that allow it, in no order, and when a grant begins that denies it.
    case allowed(Match, others: [Match], denyStart: Date?)
}

extension AccessPolicy {
    /// Returns what the grants say about an action on a key.
    ///
    /// - Parameters:
    ///   - action: The action.
    ///   - key: The key; for a listing, its prefix.
    ///   - listing: What is listed, if the action lists.
    ///   - bucket: The bucket.
    ///   - subject: The user who asks.
    ///   - circumstances: The time of the decision.
    @inline(__always)
    func coverage(
        of action: Action, on key: ObjectKey, listing: Listing?, in bucket: BucketName, for subject: Subject,
        _ circumstances: Circumstances
    ) -> Coverage {
        var match: Match?
        var rest: [Match] = []
        var denials = Denials()
        forEachMatch(of: action, on: key, in: bucket, for: subject) { found in
            if found.row.grant.effect == .deny {
                denials.add(found.row.grant, circumstances)
            } else if match == nil {
                match = found
            } else {
                rest.append(found)
            }
        }
        if denials.applying == nil, let listing {
            addDenials(to: &denials, of: .listObjects, in: bucket, for: subject, circumstances, where: listing.shows)
        }
        if let deny = denials.applying { return .refused(.denied(by: deny)) }
        guard let match else { return .refused(.noGrant) }
        return .allowed(match, others: rest, denyStart: denials.start)
    }

    /// Whether a grant allows a subject anything in a bucket.
    func allowsAnything(in bucket: BucketName, for subject: Subject) -> Bool {
        var isAllowed = false
        forEachGrant(in: bucket) { grant in
            guard !isAllowed, grant.effect == .allow else { return }
            isAllowed = grant.expandedPrefix(for: subject) != nil
        }
        return isAllowed
    }

    /// Returns the refusal of whatever a subject asks for in a bucket that does not exist or cannot be read. Only those
    /// with a grant in the bucket learn that there is one: all others receive the same error in both cases.
    func refusalWithoutBucket(_ name: BucketName, for subject: Subject) -> Refusal {
        guard let bucketFlaw else { return .noSuchBucket }
        guard subject.ticket.map({ $0.bucket == name }) ?? true else { return .outsideTicket }
        return allowsAnything(in: name, for: subject) ? .failed(bucketFlaw) : .noGrant
    }

    /// Calls a function with every grant that covers the bucket, action and key for a subject.
    @inline(__always)
    func forEachMatch(
        of action: Action, on key: ObjectKey, in bucket: BucketName, for subject: Subject, _ body: (Match) -> Void
    ) {
        func consider(_ row: GrantRow) {
            guard row.covers(action), row.grant.bucket == bucket,
                let byteCount = row.matchedByteCount(of: key, for: subject)
            else { return }
            body(Match(row: row, byteCount: byteCount))
        }
        forEachPrincipal { $0.forEachCandidate(in: bucket, key: key, consider) }
        for row in placedGrants { consider(row) }
    }

    /// Calls a function with every grant in a bucket that may cover some key.
    func forEachGrant(in bucket: BucketName, _ body: (Grant) -> Void) {
        forEachPrincipal { $0.forEachGrant(in: bucket) { body($0.grant) } }
        for row in placedGrants where row.grant.bucket == bucket { body(row.grant) }
    }

    /// Adds the grants that deny an action on an area that passes a test.
    func addDenials(
        to denials: inout Denials, of action: Action, in bucket: BucketName, for subject: Subject,
        _ circumstances: Circumstances, where meets: (KeyArea) -> Bool
    ) {
        forEachGrant(in: bucket) { grant in
            guard grant.effect == .deny, grant.actions.contains(action),
                let denied = grant.expandedPrefix(for: subject), meets(KeyArea(prefix: denied))
            else { return }
            denials.add(grant, circumstances)
        }
    }
}
