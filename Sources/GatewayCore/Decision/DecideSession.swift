public import Foundation

/// What a session may be opened with, why, and what it costs.
public struct SessionPermit: Sendable {
    /// The grant that permits most of it; its principal is the one that matched.
    public var grant: Grant
    /// The bucket.
    public var bucket: Bucket
    /// The credential that opens the session.
    public var credential: StorageCredential
    /// What is permitted.
    public var scope: SessionScope
    /// What it goes without.
    public var omissions: [SessionOmission]
    /// Life in seconds, 900…43,200.
    public var duration: Int
    /// The session must have ended by then.
    public var latestEnd: Date?
    /// What to charge; all of it or nothing.
    public var charges: [QuotaCharge]
}

/// The answer of ``decideSession(_:for:under:sourceAddress:now:)``.
public enum SessionDecision: Sendable {
    /// A session may be opened, as the permit says.
    case permit(SessionPermit)
    /// It is refused.
    case refuse(Refusal)
}

/// Decides a request for temporary credentials by the rules of ``decide(_:for:under:sourceAddress:now:)``: whatever the scope
/// allows for an action and a key, that decision permits.
///
/// Where a matching grant denies, its keys are left out. Of the grants that allow, those count whose conditions hold and can
/// be bound by a session at all: size, type and digest of uploads, and forced downloads, cannot, and no policy keeps the holder
/// from overriding headers of the answer, so that downloads need `allowResponseContentType`. What the remaining ones cover of
/// the prefix is the scope; where that is nothing, the refusal names what the first of the others misses, and otherwise the
/// permit tells what each of the others misses.
///
/// A byte quota refuses uploads, since nothing would bind their length. Every action that was asked for by name must be
/// permitted somewhere.
/// - Parameters:
///   - request: What is asked for.
///   - subject: Who asks; must be the first principal of `policy`.
///   - policy: The rows that bear on the bucket and the prefix, above and below it.
///   - sourceAddress: Where the request came from; `nil` where that cannot be known.
///   - now: The clock that the store's is compared with.
public func decideSession(
    _ request: SessionRequest, for subject: Subject, under policy: AccessPolicy, sourceAddress: IPAddress?, now: Date
) -> SessionDecision {
    guard let bucket = policy.bucket, subject.ticket?.covers(request) ?? true else {
        return .refuse(Refusal(.accessDenied))
    }
    var builder = SessionBuilder(
        request: request, subject: subject, bucket: bucket,
        circumstances: Circumstances(sourceAddress: sourceAddress, now: now))
    policy.forEachGrant(in: request.bucket) { builder.consider($0) }
    let areas: [Action: SessionScope.Areas]
    switch builder.areas(limitedBy: bucket) {
    case .failure(let refusal): return .refuse(refusal.refusal)
    case .success(let found): areas = found
    }
    guard let credential = policy.credential, credential.expiresAt.map({ now < $0 }) ?? true, let grant = builder.chief
    else { return .refuse(Refusal(.unusableCredential(of: bucket))) }
    let quotas = policy.quotas(on: Set(areas.keys), in: request.bucket)
    if quotas.contains(where: { $0.metric == .bytes }) {
        return .refuse(Refusal(.notEnforceable(reason: SessionBuilder.byteQuotaReason), grant: grant))
    }
    let (duration, latestEnd) = builder.life(in: bucket)
    let charges = quotas.map { QuotaCharge(quota: $0, holder: $0.holder(for: subject.principal), amount: 1) }
    return .permit(
        SessionPermit(
            grant: grant, bucket: bucket, credential: credential,
            scope: SessionScope(bucket: request.bucket, areas: areas), omissions: builder.omissions(besides: areas),
            duration: duration, latestEnd: latestEnd,
            charges: charges + (subject.ticket.map { [$0.charge] } ?? [])
        )
    )
}

extension Ticket {
    /// Whether the ticket is for everything that is asked for.
    fileprivate func covers(_ request: SessionRequest) -> Bool {
        bucket == request.bucket && KeyArea(prefix: prefix).covers(KeyArea(prefix: request.prefix))
            && (request.actions ?? Set(Action.allCases)).isSubset(of: actions)
    }
}

extension AccessPolicy {
    fileprivate func forEachGrant(in bucket: BucketName, _ body: (Grant) -> Void) {
        forEachPrincipal { $0.forEachGrant(in: bucket) { body($0.grant) } }
        for row in placedGrants where row.grant.bucket == bucket { body(row.grant) }
    }

    /// Quotas that apply to any of some actions, in the order of their identifiers.
    fileprivate func quotas(on actions: Set<Action>, in bucket: BucketName) -> [Quota] {
        principals.flatMap(\.quotas)
            .filter { quota in
                (quota.bucket == nil || quota.bucket == bucket) && actions.contains { quota.action ?? $0 == $0 }
                    && (quota.metric == .urls || actions.contains(.putObject))
            }
            .sorted { $0.id < $1.id }
    }
}
