public import FoundationEssentials

/// What a session may be opened with, why, and what it costs.
public struct SessionPermit: Sendable {
    /// The grant that permits most of the session. Its principal is the one that matched.
    public var grant: Grant
    /// The bucket.
    public var bucket: Bucket
    /// The credential that opens the session.
    public var credential: StorageCredential
    /// What the session permits.
    public var scope: SessionScope
    /// What the session leaves out.
    public var omissions: [SessionOmission]
    /// Lifetime in seconds, 900…43,200.
    public var duration: Int
    /// Instant by which the session must have ended; `nil` for no limit.
    public var latestEnd: Date?
    /// Charges to quotas. All of them are taken, or none.
    public var charges: [QuotaCharge]
}

/// Decides a request for temporary credentials, by the rules of ``decide(_:for:under:sourceAddress:now:)``. That
/// function permits every action and key that the scope allows.
///
/// The scope leaves out the keys of matching grants that deny. A grant that allows counts if its conditions hold and a
/// session can bind them. A session cannot bind the size, type or digest of uploads, and cannot force downloads. No
/// policy keeps the holder from overriding response headers, so downloads need `allowResponseContentType`.
///
/// The scope is the part of the prefix that the counted grants cover. If that is empty, the refusal states why the
/// first of the other grants does not count. Otherwise the permit states this for each of them.
///
/// A byte quota refuses uploads, because nothing would bind their length. Every action that the request names must be
/// permitted on some key.
/// - Parameters:
///   - request: The request.
///   - subject: The user who asks; must be the first principal of `policy`.
///   - policy: The rows that affect the bucket and the prefix, above and below it.
///   - sourceAddress: Address that the request came from; `nil` if it is unknown.
///   - now: Current time of the gateway's clock, which the store compares with its own.
public func decideSession(
    _ request: SessionRequest, for subject: Subject, under policy: AccessPolicy, sourceAddress: IPAddress?, now: Date
) -> Verdict<SessionPermit> {
    guard let bucket = policy.bucket else { return .refuse(.noSuchBucket) }
    guard subject.ticket?.covers(request) ?? true else { return .refuse(.outsideTicket) }
    var builder = SessionBuilder(
        request: request, form: .credentials, subject: subject, bucket: bucket,
        circumstances: Circumstances(sourceAddress: sourceAddress, now: now))
    policy.forEachGrant(in: request.bucket) { builder.consider($0) }
    let areas: [Action: SessionScope.Areas]
    do throws(Refusal) {
        areas = try builder.areas(limitedBy: bucket)
    } catch {
        return .refuse(error)
    }
    guard let credential = policy.credential, credential.expiresAt.map({ now < $0 }) ?? true, let grant = builder.chief
    else { return .refuse(.failed(.unusableCredential(of: bucket))) }
    let charges = policy.charges(for: subject, on: Set(areas.keys), in: request.bucket)
    if charges.contains(where: { $0.quota.metric == .bytes }) {
        return .refuse(.unmet(.notEnforceable(reason: SessionBuilder.byteQuotaReason), of: grant))
    }
    let (duration, latestEnd) = builder.life(in: bucket)
    return .permit(
        SessionPermit(
            grant: grant, bucket: bucket, credential: credential,
            scope: SessionScope(bucket: request.bucket, areas: areas), omissions: builder.omissions(besides: areas),
            duration: duration, latestEnd: latestEnd, charges: charges
        )
    )
}

extension Ticket {
    /// Whether the ticket covers everything that a request asks for.
    func covers(_ request: SessionRequest) -> Bool {
        bucket == request.bucket && KeyArea(prefix: prefix).covers(KeyArea(prefix: request.prefix))
            && (request.actions ?? Set(Action.allCases)).isSubset(of: actions)
    }
}
