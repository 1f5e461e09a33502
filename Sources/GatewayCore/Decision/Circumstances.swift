import FoundationEssentials
import Signing

/// When a credential begins and ends.
struct LinkLife {
    /// Instant of signing.
    var signedAt: Date
    /// Seconds from the instant of signing to the end.
    var signedSeconds: Int
    /// Seconds from the decision to the end.
    var seconds: Int
    /// What determined the life.
    let origin: ExpiryOrigin

    /// Returns the longest life up to this one that the links of a bucket can express; `nil` if less than a second is
    /// left.
    func expressed(in row: BucketRow) -> LinkLife? {
        guard row.binding.isOfCDN, case .alibaba(let form, let validity)? = row.cdnScheme else { return self }
        let end = Int64(signedAt.timeIntervalSince1970) + Int64(signedSeconds)
        let lost = AlibabaCDN.lostSeconds(of: form, endingAt: end, validity: validity)
        var life = self
        life.signedSeconds -= lost
        life.seconds -= lost
        return life.seconds >= 1 ? life : nil
    }
}

/// The time and source address of a request, with checks against the conditions of grants.
struct Circumstances {
    let sourceAddress: IPAddress?
    let now: Date

    static let addressReason =
        "Links to the bucket's CDN work from one IPv4 address alone, and yours is unknown or of version 6."

    private static let wildcardReason = """
        The key holds '*' or '?', which stand for other characters in the policy that binds a link to your address; ask \
        for a link to the bucket's store.
        """

    /// OSS draws an image of the bucket into another if a download has the parameter
    /// `x-oss-process=image/watermark,image_…`, and the network reads the bucket by a right of its own.
    static let parametersReason = """
        Whoever holds a link or cookies for the bucket's CDN can add parameters, by which Alibaba OSS shows other images \
        of the bucket; choose another endpoint, or let the CDN drop parameters and have an admin set 'dropsParameters'.
        """

    private static let formMD5Reason = "The grant requires an MD5, and a form binds none; ask for a presigned URL."
    private static let barePartsReason =
        "The grant requires an MD5, and these parts would state none; ask for presigned URLs (POST /v1/presigned-urls)."

    /// The whole second of the decision. Signatures use whole seconds; rounding down keeps every limit.
    var second: Date { Date(timeIntervalSince1970: now.timeIntervalSince1970.rounded(.down)) }

    /// Whether the current time lies in a grant's validity.
    func isDuring(_ grant: Grant) -> Bool {
        grant.notBefore.map { $0 <= now } ?? true && grant.notAfter.map { now < $0 } ?? true
    }

    /// Returns the error for the first condition of a grant that does not hold; `nil` if all hold.
    func failure(of row: GrantRow, for request: IssueRequest, in place: BucketRow) -> GatewayError? {
        let isUncommon = !row.isUnconditional || request.action == .getObject || request.delivery == .redirect
        if isUncommon, let failure = failure(ofConditions: row, for: request, in: place) { return failure }
        if let endpoint = request.endpoint, endpoint != place.endpoint {
            return .invalidArgument(field: "endpoint", reason: "The bucket has no endpoint of this name.")
        }
        if place.bindsSourceAddress {
            guard sourceAddress?.isV4 == true else { return .notEnforceable(reason: Self.addressReason) }
            guard !CloudFront.hasWildcard(request.key.rawValue) else {
                return .invalidArgument(field: "key", reason: Self.wildcardReason)
            }
        }
        if place.passesParametersToOSS, !place.binding.signsDownloads {
            return .notEnforceable(reason: Self.parametersReason)
        }
        return place.binding.flaw(of: request, under: row.grant.conditions)
    }

    private func failure(
        ofConditions row: GrantRow, for request: IssueRequest, in place: BucketRow
    ) -> GatewayError? {
        let grant = row.grant
        guard isDuring(grant), grant.notAfter.map({ secondsLeft(until: $0) >= 1 }) ?? true else {
            return .conditionFailed(.validity(of: grant, at: now))
        }
        if let networks = row.networks, !isWithin(networks) { return .conditionFailed(.sourceAddress) }
        if request.delivery == .redirect, !place.bucket.allowsRedirects { return .conditionFailed(.redirect) }
        return switch request.action {
        case .putObject: uploadFailure(of: grant.conditions, for: request, in: place)
        case .getObject: downloadFailure(of: grant.conditions, for: request)
        case .listObjects, .deleteObject: nil
        }
    }

    /// Returns the life of a URL and what determined it; `nil` if less than a second is left.
    ///
    /// - Parameter denyStart: The beginning of a grant that denies the request.
    func life(
        of request: IssueRequest, by row: GrantRow, in place: BucketRow, credential: CredentialRow,
        until denyStart: Date?
    ) -> LinkLife? {
        var life: (seconds: Int, origin: ExpiryOrigin) =
            request.expiresIn.map { ($0, .request) } ?? (place.bucket.defaultTTL, .bucketDefault)
        func cut(to limit: Int?, _ origin: ExpiryOrigin) {
            if let limit, limit < life.seconds { life = (limit, origin) }
        }
        cut(to: row.grant.conditions.maxTTL, .grantMaxTTL)
        cut(to: row.grant.notAfter.map(secondsLeft), .grantValidity)
        cut(to: denyStart.map(secondsLeft), .denyStart)
        cut(to: place.bucket.maxTTL, .bucketMaxTTL)
        cut(to: schemeMaxTTL, .scheme)
        cut(to: credential.credential.expiresAt.map(secondsLeft), .credential)
        guard life.seconds >= 1 else { return nil }
        let plain = LinkLife(
            signedAt: second, signedSeconds: life.seconds, seconds: life.seconds, origin: life.origin)
        guard place.bucket.stableLinkWindow > 0, request.isDownloadLink else { return plain }
        let end = earlier(earlier(row.grant.notAfter, denyStart), credential.credential.expiresAt)
        return stable(plain, by: row, in: place.bucket, credential: credential.credential, until: end) ?? plain
    }

    /// Returns the life of a link that is the same throughout a window: it begins with the window, and is longer by the
    /// window, so that no less is left than without one. `nil` if the link would exceed a limit.
    ///
    /// Temporary credentials have no window: it could begin before they did.
    private func stable(
        _ plain: LinkLife, by row: GrantRow, in bucket: Bucket, credential: StorageCredential, until end: Date?
    ) -> LinkLife? {
        let window = bucket.stableLinkWindow
        let past = Int(second.timeIntervalSince1970) % window
        var life = plain
        life.signedAt = second.addingTimeInterval(TimeInterval(-past))
        life.signedSeconds += window
        life.seconds += window - past
        guard credential.sessionToken == nil, life.signedSeconds <= row.grant.conditions.maxTTL ?? .max,
            life.signedSeconds <= bucket.maxTTL, life.signedSeconds <= schemeMaxTTL,
            life.seconds <= end.map(secondsLeft) ?? .max
        else { return nil }
        return life
    }

    /// The whole seconds from the decision to an end; 0 if it is over.
    func secondsLeft(until end: Date) -> Int {
        let seconds = end.timeIntervalSince(second).rounded(.down)
        return Int(min(max(seconds, 0), TimeInterval(schemeMaxTTL) + 1))
    }

    func isWithin(_ networks: [IPNetwork]) -> Bool {
        guard let sourceAddress else { return false }
        return networks.contains { $0.contains(sourceAddress) }
    }

    private func uploadFailure(
        of conditions: GrantConditions, for request: IssueRequest, in place: BucketRow
    ) -> GatewayError? {
        if let patterns = conditions.contentTypes,
            !(request.contentType.map { type in patterns.contains(where: type.isCovered) } ?? false)
        {
            if let type = request.contentType, let pattern = patterns.first(where: type.isLeftOut) {
                return .conditionFailed(.scriptableContentType(type.essence, pattern: pattern))
            }
            return .conditionFailed(.contentType(allowed: patterns))
        }
        if conditions.requireContentMD5 == true, request.carriesBytes || request.startsBareParts,
            request.contentMD5 == nil
        {
            if request.delivery == .postPolicy { return .notEnforceable(reason: Self.formMD5Reason) }
            if request.startsBareParts { return .notEnforceable(reason: Self.barePartsReason) }
            return .conditionFailed(.contentMD5Required)
        }
        if let maxBytes = conditions.maxBytes, request.makesObject {
            if let length = request.objectLength, length > maxBytes { return .entityTooLarge(maxBytes: maxBytes) }
            let (bucket, binding) = (place.bucket, place.binding)
            // Refuse before anything is at the store: no part could follow.
            if request.needsLengthOfParts, !binding.bindsLength, !bucket.allowsUnenforcedSize {
                return binding.unboundSize(of: request)
            }
            // The total of all parts is bound only through the length of each part.
            if request.multipart != nil, request.objectLength == nil { return .conditionFailed(.contentLengthRequired) }
            guard request.carriesBytes, binding.size(of: request, limit: maxBytes) == nil else { return nil }
            if binding.bindsLength { return .conditionFailed(.contentLengthRequired) }
            if !bucket.allowsUnenforcedSize { return binding.unboundSize(of: request) }
        }
        return nil
    }

    private func downloadFailure(of conditions: GrantConditions, for request: IssueRequest) -> GatewayError? {
        let response = request.response
        if response.contentType != nil, conditions.allowResponseContentType != true {
            return .conditionFailed(.responseContentType)
        }
        if request.versionID != nil, conditions.allowVersions != true { return .conditionFailed(.versions) }
        if conditions.forceDownload == true, response.contentDisposition != nil, !response.isAttachment {
            return .conditionFailed(.forcedDownload)
        }
        return nil
    }
}

extension ConditionFailure {
    /// The end of a grant's validity that an instant outside of it is beyond.
    static func validity(of grant: Grant, at instant: Date) -> ConditionFailure {
        grant.notBefore.map { instant < $0 } == true ? .notYetValid : .noLongerValid
    }
}
