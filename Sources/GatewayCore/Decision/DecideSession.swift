import FoundationEssentials

/// What a session may be opened with, why, and what it costs.
public struct SessionPermit: Sendable {
    /// The grant that permits most of the session. Its principal is the one that matched.
    public var grant: Grant
    /// The grants that the session rests on.
    var limits: [Grant]
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
    var latestEnd: Date?
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
/// Under a byte quota no grant counts for uploads, because nothing would bind their length. Every action that the
/// request names must be permitted on some key.
/// - Parameters:
///   - request: The request.
///   - subject: The user who asks; must be the first principal of `policy`.
///   - policy: The rows that affect the bucket and the prefix, above and below it.
///   - sourceAddress: Address that the request came from; `nil` if it is unknown.
///   - now: Current time of the gateway's clock, which the store compares with its own.
func decideSession(
    _ request: SessionRequest, for subject: Subject, under policy: AccessPolicy, sourceAddress: IPAddress?, now: Date
) -> Verdict<SessionPermit> {
    guard let bucket = policy.bucket else {
        return .refuse(policy.refusalWithoutBucket(request.bucket, for: subject))
    }
    guard subject.ticket?.covers(request) ?? true else { return .refuse(.outsideTicket) }
    var builder = SessionBuilder(
        request: request, form: .credentials, subject: subject, bucket: bucket,
        limitsBytes: policy.limitsBytes(of: .putObject, in: request.bucket),
        circumstances: Circumstances(sourceAddress: sourceAddress, now: now))
    policy.forEachGrant(in: request.bucket) { builder.consider($0) }
    let areas: [Action: SessionScope.Areas]
    do throws(Refusal) {
        areas = try builder.areas()
    } catch {
        return .refuse(error)
    }
    guard let credential = policy.credential, credential.expiresAt.map({ now < $0 }) ?? true, let grant = builder.chief
    else { return .refuse(.failed(.unusableCredential(of: bucket))) }
    let (duration, latestEnd) = builder.life()
    return .permit(
        SessionPermit(
            grant: grant, limits: builder.limits, bucket: bucket, credential: credential,
            scope: SessionScope(bucket: request.bucket, areas: areas), omissions: builder.omissions(besides: areas),
            duration: duration, latestEnd: latestEnd,
            charges: policy.charges(for: subject, on: Set(areas.keys), in: request.bucket)
        )
    )
}

extension SessionBuilder {
    private static let step = 300
    /// What SDKs need. It is a step of its own, before the shortest life.
    private static let lifeForSDKs = SessionRequest.leastLifeForSDKs + SessionRequest.freshness

    /// Returns the lifetime of the session in seconds, and the instant by which it must have ended, if any.
    fileprivate func life() -> (duration: Int, latestEnd: Date?) {
        let wanted = request.duration ?? SessionRequest.defaultDuration
        let longest =
            (limits.compactMap(\.conditions.maxTTL) + [bucket.maxTTL, bucket.maxSessionTTL]).min() ?? wanted
        let duration = min(wanted, longest)
        guard let end = limits.compactMap(\.notAfter).min(),
            case let left = end.timeIntervalSince(circumstances.now) - SessionRequest.leeway,
            left < TimeInterval(duration)
        else { return (duration, limits.compactMap(\.notAfter).min()) }
        // Rounded down to steps, so that callers who ask shortly after one another can share a session.
        let rounded = Int(left) / Self.step * Self.step
        return (Int(left) < Self.lifeForSDKs ? rounded : max(rounded, Self.lifeForSDKs), end)
    }

    /// Returns why a grant that allows cannot be used for temporary credentials; `nil` if it can.
    func failureOfCredentials(of grant: Grant, _ area: KeyArea, for action: Action) -> GatewayError? {
        let conditions = grant.conditions
        let least = SessionRole.durations.lowerBound
        if let maxTTL = conditions.maxTTL, maxTTL < least { return .notEnforceable(reason: Self.lifeReason) }
        if let end = grant.notAfter,
            end.timeIntervalSince(circumstances.now) < TimeInterval(least) + SessionRequest.leeway
        {
            return .notEnforceable(reason: Self.lifeReason)
        }
        let binds =
            switch action {
            case .putObject:
                conditions.contentTypes != nil || conditions.maxBytes != nil || conditions.requireContentMD5 == true
            case .getObject: conditions.forceDownload == true
            case .listObjects, .deleteObject: false
            }
        if action == .putObject, bucket.honoursUnsignedHeaders {
            return .notEnforceable(reason: Self.unsignedReason)
        }
        if action == .putObject, bucket.provider == .oss, !bucket.permitsSymlinks {
            return .notEnforceable(reason: Self.symlinkReason)
        }
        if binds { return .notEnforceable(reason: Self.bindingReason) }
        if action == .putObject, limitsBytes { return .notEnforceable(reason: Self.byteQuotaReason) }
        if action == .getObject, conditions.allowResponseContentType != true {
            return .notEnforceable(reason: Self.responseReason)
        }
        return area.isNameable ? nil : .notEnforceable(reason: Self.nameReason)
    }

    private static let bindingReason = """
        The grant limits the type, digest or size of uploads, or forces downloads, and temporary credentials cannot \
        bind this; ask for presigned URLs or browser forms instead.
        """
    private static let byteQuotaReason = """
        A quota limits bytes, and temporary credentials bind no length; ask for presigned URLs or browser forms instead.
        """
    private static let unsignedReason = """
        The holder of temporary credentials can sign any header, but uploads to this bucket must not set access \
        lists or copy objects; ask for presigned URLs or browser forms instead.
        """
    private static let symlinkReason = """
        At Alibaba OSS, the holder of temporary credentials could make a symbolic link to any object of the bucket, \
        and links for downloads follow it; ask for presigned URLs or browser forms instead, or have an admin set \
        'permitsSymlinks' on the bucket.
        """
    private static let responseReason = """
        Temporary credentials let their holder choose the headers of the answer, which requires a grant with \
        'allowResponseContentType'; ask for presigned URLs instead.
        """
}

extension Ticket {
    /// Whether the ticket covers everything that a request asks for.
    func covers(_ request: SessionRequest) -> Bool {
        bucket == request.bucket && KeyArea(prefix: prefix).covers(KeyArea(prefix: request.prefix))
            && (request.actions ?? Set(Action.allCases)).isSubset(of: actions)
    }
}
