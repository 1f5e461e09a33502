import FoundationEssentials
import Signing

/// What cookies may be signed for, why, and what they cost.
struct CookiePermit: Sendable {
    /// The grant that permits the download of every key below the prefix. Its principal is the one that matched.
    var grant: Grant
    /// The grants that the cookies rest on.
    var limits: [Grant]
    /// The bucket, as its content delivery network names it.
    var bucket: Bucket
    /// The credential to sign with.
    var credential: StorageCredential
    /// What the cookies open: all keys that begin with the prefix, or the one key that it is.
    var prefix: ExactText
    /// Lifetime in seconds.
    var expiresIn: Int
    /// The instant of the decision, rounded down to a whole second.
    var decidedAt: Date
    /// The address from which alone the cookies work; `nil` if the bucket binds none.
    var sourceAddress: IPAddress?
    /// Charges to quotas. All of them are taken, or none.
    var charges: [QuotaCharge]

    /// When the cookies expire, by the signing clock; not valid at this instant or later.
    var expiresAt: Date { decidedAt.addingTimeInterval(TimeInterval(expiresIn)) }
}

/// Decides a request for cookies, by the rules of ``decide(_:for:under:sourceAddress:now:)``. That function permits the
/// download of every key that the cookies open.
///
/// Grants count as for temporary credentials. The policy in a cookie names one place and nothing that is left out: a
/// grant must cover the whole prefix, and no grant may deny a part of it. Who holds cookies for more than one object
/// can add parameters to the URLs, which takes a grant with `allowResponseContentType` and `allowVersions`. Cookies for
/// the whole bucket also open its listing, which must be permitted as well.
///
/// A lifetime that exceeds a limit of the grants, the bucket or its sessions is shortened, not refused.
/// - Parameters:
///   - request: The request.
///   - subject: The user who asks; must be the first principal of `policy`.
///   - policy: The rows that affect the bucket and the prefix, above and below it.
///   - sourceAddress: Address that the request came from; `nil` if it is unknown.
///   - now: Current time of the gateway's clock, which the network compares with its own.
func decideCookies(
    _ request: CookieRequest, for subject: Subject, under policy: AccessPolicy, sourceAddress: IPAddress?, now: Date
) -> Verdict<CookiePermit> {
    guard let row = policy.shared.bucket else {
        return .refuse(policy.refusalWithoutBucket(request.bucket, for: subject))
    }
    guard subject.ticket?.covers(request.session) ?? true else { return .refuse(.outsideTicket) }
    let circumstances = Circumstances(sourceAddress: sourceAddress, now: now)
    func built(_ session: SessionRequest) -> SessionBuilder {
        var builder = SessionBuilder(
            request: session, form: .cookies, subject: subject, bucket: row.bucket, limitsBytes: false,
            circumstances: circumstances)
        policy.forEachGrant(in: request.bucket) { builder.consider($0) }
        return builder
    }
    let builder = built(request.session)
    let whole = SessionScope.Areas(allowed: [request.area], denied: [])
    let areas: SessionScope.Areas?
    do throws(Refusal) {
        areas = try builder.areas()[.getObject]
    } catch {
        return .refuse(error)
    }
    guard let grant = builder.chief, areas == whole else {
        return .refuse(.unmet(.notEnforceable(reason: onePlaceReason)))
    }
    func refused(_ reason: String) -> Verdict<CookiePermit> {
        .refuse(.unmet(.notEnforceable(reason: reason), of: grant))
    }
    guard let place = row.atCDN, case .cloudFront? = place.cdnScheme else { return refused(noCookiesReason) }
    if place.bindsSourceAddress, sourceAddress?.isV4 != true { return refused(Circumstances.addressReason) }
    // A policy for one object names its URL without a query.
    if place.passesParametersToOSS, request.area.isDirectory { return refused(Circumstances.parametersReason) }
    var limits = builder.limits
    if let session = request.listing {
        let listing = built(session)
        guard subject.ticket?.covers(session) ?? true, (try? listing.areas())?[.listObjects] == whole else {
            return refused(wholeBucketReason)
        }
        limits += listing.limits
    }
    guard let credential = policy.shared.credential(for: place)?.credential,
        let seconds = builder.secondsOfCookies(request.expiresIn, under: limits, by: credential)
    else { return .refuse(.failed(.unusableCredential(of: place.bucket), of: grant)) }
    return .permit(
        CookiePermit(
            grant: grant, limits: limits, bucket: place.bucket, credential: credential, prefix: request.prefix,
            expiresIn: seconds, decidedAt: circumstances.second,
            sourceAddress: place.bindsSourceAddress ? sourceAddress : nil,
            charges: policy.charges(for: subject, on: request.actions, in: request.bucket)))
}

private let noCookiesReason = """
    The bucket names no CDN that takes signed cookies: only CloudFront does, and the bucket has to name its key; ask for \
    presigned URLs instead.
    """

private let onePlaceReason = """
    Cookies open one place as a whole, but no grant covers all of it, or a grant denies a part; ask for a longer \
    prefix, or for presigned URLs instead.
    """

private let wholeBucketReason = """
    Cookies for the whole bucket also open its listing, so a grant must permit 'ListObjects' on all of it, and none \
    may deny a part; ask for a longer prefix, or for presigned URLs instead.
    """

extension SessionBuilder {
    /// Returns the lifetime of cookies in seconds; `nil` if less than a second is left.
    ///
    /// - Parameters:
    ///   - wanted: The requested lifetime; `nil` for the bucket's default.
    ///   - limits: The grants that the cookies rest on.
    ///   - credential: The credential that signs.
    fileprivate func secondsOfCookies(_ wanted: Int?, under limits: [Grant], by credential: StorageCredential) -> Int? {
        var seconds = min(wanted ?? bucket.defaultTTL, bucket.maxTTL, bucket.maxSessionTTL, schemeMaxTTL)
        for limit in limits.compactMap(\.conditions.maxTTL) { seconds = min(seconds, limit) }
        for end in limits.compactMap(\.notAfter) + [credential.expiresAt].compactMap(\.self) {
            seconds = min(seconds, circumstances.secondsLeft(until: end))
        }
        return seconds >= 1 ? seconds : nil
    }

    /// Returns why a grant that allows cannot be used for cookies; `nil` if it can.
    func failureOfCookies(of grant: Grant, for action: Action) -> GatewayError? {
        let conditions = grant.conditions
        if let end = grant.notAfter, circumstances.secondsLeft(until: end) < 1 {
            return .conditionFailed(.noLongerValid)
        }
        guard action == .getObject else { return nil }
        if conditions.forceDownload == true { return .notEnforceable(reason: Self.forcedCookieReason) }
        // A policy for one object names its URL without a query.
        guard KeyArea(prefix: request.prefix).isDirectory else { return nil }
        let isOpen = conditions.allowResponseContentType == true && conditions.allowVersions == true
        return isOpen ? nil : .notEnforceable(reason: Self.queryReason)
    }

    private static let forcedCookieReason =
        "The grant forces downloads, and cookies cannot bind this; ask for presigned URLs instead."
    private static let queryReason = """
        Who holds cookies for many objects can add parameters that choose the answer's headers and the version, which \
        requires a grant with 'allowResponseContentType' and 'allowVersions'; ask for presigned URLs instead.
        """
}
