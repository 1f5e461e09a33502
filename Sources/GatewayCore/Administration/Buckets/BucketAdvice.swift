/// Generates advice for an admin about a failed step of a live check.
struct BucketAdvice {
    let bucket: Bucket
    /// Seconds by which the store's clock is ahead, if known.
    let clockDifference: Int?

    /// Returns one or two sentences of advice about why a step did not pass.
    func text(for failure: ProbeFailure, in finding: BucketValidation.Finding) -> String {
        let step = finding.step
        if step.isOfEndpoint, failure.isOutOfReach {
            return
                "The gateway does not reach this endpoint (\(failure.word)), so nothing is known about it. "
                + "Try a link of it from where its users are."
        }
        return switch failure {
        case .blocked:
            "The endpoint's address is not public, so nothing was sent there. "
                + "If you mean this address, list it in SLUICE_OUTBOUND_ALLOW; for plain http, list its origin."
        case .nameNotFound:
            "The name in the endpoint has no address. Check its spelling"
                + (bucket.addressing == .virtual
                    ? ", and whether the store accepts the bucket as part of the host." : ".")
        case .unreachable: "Nothing listens at the endpoint. Check host and port, and firewalls in between."
        case .timedOut: "The store did not answer in time. Check the route to it, or try again when it is less busy."
        case .tls:
            "The endpoint does not use TLS, or the system does not trust its certificate for this name."
                + (bucket.addressing == .virtual
                    ? " If the bucket is part of the host, the certificate must cover that name, too." : "")
        case .unreadable: "The server at the endpoint does not answer like a store. Check the host and port."
        case .redirected(let region): redirect(to: region)
        case .refused(let status, let code): refusal(failure, status, code, in: finding)
        case .unexpected: unexpected(in: finding)
        case .clockDifference where step == .writeTime:
            "The store's time for an object differs from when it was written, "
                + "so bytes of uploads that did arrive may be given back. Set the store's clock by NTP. "
                + "If a proxy in front of the store tells its own time, let it pass on the store's 'Date': "
                + "at nginx, by 'proxy_pass_header Date'."
        case .clockDifference:
            "The clocks of gateway and store differ by \(abs(clockDifference ?? 0)) s. "
                + "Synchronize both by NTP: links expire too early or too late, "
                + "and stores refuse signatures that are too far off."
        case .notSignable:
            "Nothing can be signed with these rows. "
                + "Check the kind of the credential, and that its secret was entered as the store gave it."
        }
    }

    private func redirect(to region: String?) -> String {
        guard let region, region != bucket.region else {
            return
                "The store sends requests for this bucket elsewhere, and the gateway does not follow. "
                + "Set the endpoint and region that the store names for the bucket."
        }
        return "The bucket is in the region '\(region)'. Set that region, and the endpoint that goes with it."
    }

    private func refusal(
        _ failure: ProbeFailure, _ status: Int, _ code: String?, in finding: BucketValidation.Finding
    ) -> String {
        let step = finding.step
        if step == .preflight, !failure.isTemporary { return preflight(finding.outcome) }
        if step == .put, finding.outcome == .warned { return Self.demandedMD5 }
        if step == .unsignedACL, !failure.isTemporary { return hiddenACL(status) }
        if step == .addedParameter, !failure.isTemporary { return addedParameter(reachesStore: true) }
        switch code {
        case "SignatureDoesNotMatch": return signature
        case "InvalidAccessKeyId", "InvalidAccessKeyID", "InvalidSecurity":
            return
                "The store does not know the access key. Enter key and secret again, and check that they belong to this store."
        case "RequestTimeTooSkewed", "RequestExpired": return skew
        case "ExpiredToken", "InvalidToken", "TokenRefreshRequired", "InvalidSecurityToken", "SecurityTokenExpired":
            return "The session token of the credential has expired or belongs to another key. Enter new credentials."
        case "NoSuchBucket", "InvalidBucketName": return noSuchBucket
        case "PermanentRedirect", "TemporaryRedirect", "AuthorizationHeaderMalformed",
            "IllegalLocationConstraintException",
            "AuthorizationQueryParametersError":
            return redirect(to: nil)
        case "SecondLevelDomainForbidden", "PathStyleDomainForbidden":
            return "The store does not accept the bucket in the path. Set 'addressing' to 'virtual'."
        case "NotImplemented", "MethodNotAllowed", "SignatureVersionNotSupported":
            return
                "The store does not do this, or not by the signing scheme '\(bucket.scheme.rawValue)'. Try another scheme."
        default: break
        }
        switch status {
        case 404 where step == .put: return noSuchBucket
        case 404:
            return "The store does not have the object that it accepted. Check that the endpoint is one store only."
        case 401, 403: return permission(for: finding)
        case 400..<500 where !failure.isTemporary:
            return "The store does not accept the request. Check scheme, region and addressing of the bucket."
        case 501: return "The store does not support this. Try another signing scheme."
        case _ where step.isOfEndpoint:
            return "The endpoint is busy or in trouble, so nothing is known about this. Try again later."
        default: return "The store itself is busy or in trouble. Try again later."
        }
    }

    private var signature: String {
        "The store computes a different signature: the secret does not belong to the access key, "
            + "or the store expects another scheme, region or addressing than '\(bucket.scheme.rawValue)', "
            + "'\(bucket.region)' and '\(bucket.addressing.rawValue)'."
    }

    private var skew: String {
        let by = clockDifference.map { ", by \(abs($0)) s" } ?? ""
        return "The store finds the time of the signature too far from its own\(by). Set the clocks of both by NTP."
    }

    private var noSuchBucket: String {
        "The store has no bucket '\(bucket.name)' at this endpoint. Check the bucket's name, the endpoint and the addressing."
    }

    private func preflight(_ outcome: BucketValidation.Outcome) -> String {
        func list(_ names: [String]) -> String { names.map { "'\($0)'" }.joined(separator: ", ") }
        let (always, sometimes) = bucket.pageHeaders
        guard outcome == .warned else {
            return
                "The store does not let pages of this origin upload. "
                + "Add a CORS rule to the bucket there that allows the origin, the methods PUT, POST and GET, "
                + "and all headers, at least \(list(always))."
        }
        return
            "The store lets pages of this origin upload, but not by links that bind more than a type. "
            + "Add to the headers of its CORS rule what such links bind: \(list(sometimes))."
    }

    private static let demandedMD5 =
        "The store takes no upload without a digest, as Amazon S3 does where Object Lock has a default retention. "
        + "Set 'requireContentMD5' in the grants for uploads, so that no link is issued that it refuses."

    /// Returns advice about a missing permission. It names the permission as the provider does: S3, OSS or Google Cloud
    /// Storage.
    private func permission(for finding: BucketValidation.Finding) -> String {
        let step = finding.step
        let action =
            switch step {
            case .put: ["s3:PutObject", "oss:PutObject", "storage.objects.create"]
            case .delete where finding.isOfVersion:
                ["s3:DeleteObjectVersion", "oss:DeleteObjectVersion", "storage.objects.delete"]
            case .delete: ["s3:DeleteObject", "oss:DeleteObject", "storage.objects.delete"]
            case .absent: ["s3:ListBucket", "oss:ListObjects", "storage.objects.list"]
            default: ["s3:GetObject", "oss:GetObject", "storage.objects.get"]
            }
        let word =
            switch bucket.provider {
            case .aws, .s3: action[0]
            case .oss: action[1]
            case .gcs: action[2]
            }
        if step == .absent {
            return "Without '\(word)' on the bucket the store answers 403 for missing objects, "
                + "so the gateway cannot tell which uploads never arrived."
        }
        return
            "The credential lacks '\(word)' on '\(bucket.name)/\(ProbeKey.prefix)*', or a policy of the bucket"
            + (finding.isOfVersion ? " or its Object Lock" : "") + " denies it."
            + (step == .delete ? " Links work without it; the probe object stays." : "")
    }

    private func unsigned(_ step: BucketValidation.Step) -> String {
        let what =
            switch step {
            case .unsignedACL:
                "Anyone who has an upload link can publish the object: the store obeys an 'x-amz-acl' that is not signed."
            case .unsignedType:
                "Anyone who has an upload link can give the object the type that its key ends in: "
                    + "the store obeys an 'X-Detect-Content-Type' that is not signed."
            default:
                "Anyone who has an upload link can copy any object that the credential may read: "
                    + "the store obeys an 'x-amz-copy-source' that is not signed."
            }
        if bucket.scheme == .awsV2 {
            return what + " Links of 'aws-v2' cannot prevent this. Use 'aws-v4' with 'honoursUnsignedHeaders'."
                + Self.priceOfClosing
        }
        return bucket.honoursUnsignedHeaders
            ? what + " It does so although the bucket's links bind headers that prevent this. "
                + "Do not grant uploads by links here."
            : what + " Set 'honoursUnsignedHeaders' on the bucket, so that its links bind headers that prevent this."
                + Self.priceOfClosing
    }

    /// What a bucket under `aws-v4` can no longer do once it has `honoursUnsignedHeaders`.
    private static let priceOfClosing =
        " Its upload links then need 'checksumSHA256' and a length, "
        + "and temporary credentials and remote signing upload no more."

    private func hiddenACL(_ status: Int) -> String {
        let unknown =
            "The store accepted an upload with an 'x-amz-acl' that is not signed, and does not tell who may read the object, "
            + "so it is not known whether it obeyed. "
        return [401, 403].contains(status)
            ? unknown + "Permit the credential 's3:GetObjectAcl' on '\(bucket.name)/\(ProbeKey.prefix)*', "
                + "or run 'sluice qualify', which tries to read such an object without a signature."
            : unknown + "Run 'sluice qualify', which tries to read such an object without a signature."
    }

    private func addedParameter(reachesStore: Bool) -> String {
        if bucket.passesParametersToOSS {
            return "Sluice issues no links to this CDN before 'dropsParameters' is set, "
                + "because added parameters can show other images of the bucket at Alibaba OSS. "
                + (reachesStore
                    ? "Let the CDN drop all parameters but those of its signature, and set it."
                    : "The CDN dropped the one that was tried; if it drops all but those of its signature, set it.")
        }
        return bucket.provider == .oss
            ? "Whoever has a link can add parameters that show other images of the bucket: "
                + "the CDN hands them to Alibaba OSS, although 'dropsParameters' says otherwise. "
                + "Let the CDN drop all parameters but those of its signature."
            : "A link with 'x-oss-process' added is answered differently. If the bucket is at Alibaba OSS, "
                + "whoever has a link can see other images of the bucket: give the bucket the provider 'oss', "
                + "and let the CDN drop all parameters but those of its signature."
    }

    private var checksum: String {
        bucket.honoursUnsignedHeaders
            ? "The store does not compare the hash that a request is signed with. Ask for 'contentMD5' as well."
            : "The store does not compare 'x-amz-checksum-sha256', so that a SHA-256 binds nothing there. "
                + "Ask for 'contentMD5', or set 'honoursUnsignedHeaders' on the bucket, "
                + "so that its links bind the hash of the request instead." + Self.priceOfClosing
    }

    private func unexpected(in finding: BucketValidation.Finding) -> String {
        switch finding.step {
        case .absent:
            "The probe object still exists. Remove it, and check whether something prevents the deletion of objects."
        case .preflight: preflight(finding.outcome)
        case .unsignedACL, .unsignedCopy, .unsignedType: unsigned(finding.step)
        case .unsignedTimes:
            "Anyone who has an upload link can let the object vanish, or say that it is older than it is: "
                + "the store obeys an 'X-Delete-At' or 'x-minio-source-mtime' that is not signed. "
                + "Set 'externalDeletions' on the bucket, so that neither gives reserved bytes back."
        case .checksum: checksum
        case .unsignedLink:
            "The CDN sends objects without a signature, so that its links limit nothing. "
                + "Let it check signatures on all paths of the bucket."
        case .expiredLink:
            "The CDN sends objects by a link that has ended. "
                + "Check its clock and, at Alibaba's CDN, that 'validity' is the time for which the domain accepts links."
        case .uploadByLink:
            "Whoever has a link for a download can upload by it. Let the CDN pass on GET and HEAD alone."
        case .addedParameter: addedParameter(reachesStore: !bucket.passesParametersToOSS)
        default:
            "The store returns bytes that differ from those that it accepted. "
                + "Check that the endpoint is one store only."
        }
    }
}

extension BucketValidation {
    /// Adds advice to every finding that did not pass.
    public func advised(for bucket: Bucket) -> BucketValidation {
        func advice(_ finding: Finding) -> BucketAdvice {
            BucketAdvice(
                bucket: finding.endpoint.flatMap { bucket.at($0) } ?? bucket, clockDifference: clockDifference)
        }
        var validation = self
        for index in findings.indices {
            guard let failure = findings[index].failure else { continue }
            validation.findings[index].advice = advice(findings[index]).text(for: failure, in: findings[index])
        }
        return validation
    }
}

extension BucketValidation.Step {
    /// Whether the step tries one of the bucket's public endpoints, which the gateway need not reach.
    public var isOfEndpoint: Bool {
        switch self {
        case .endpoint, .unsignedLink, .expiredLink, .uploadByLink, .addedParameter: true
        default: false
        }
    }
}

extension ProbeFailure {
    /// Whether the request reached no server, which says nothing about those who can reach one.
    public var isOutOfReach: Bool {
        switch self {
        case .blocked, .nameNotFound, .unreachable, .timedOut: true
        default: false
        }
    }
}
