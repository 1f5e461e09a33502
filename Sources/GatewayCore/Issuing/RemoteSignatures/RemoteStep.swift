import FoundationEssentials
import Bytes
import Signing

/// One attempt to sign a string, with all inputs of the decision.
struct RemoteStep {
    let string: RemoteString
    let scheme: RemoteSignatures.Scheme
    /// The principal and the key that an upload would be recorded for; for a listing, the prefix.
    let upload: RemoteUpload
    let caller: Caller
    let policy: AccessPolicy
    let sourceAddress: IPAddress?
    let now: Date

    private static let otherDeliveries = "ask for presigned URLs (POST /v1/presigned-urls) instead."

    /// Refuses a caller whom no grant covers. All checks that follow depend on the bucket, and only others may learn
    /// from them that it exists.
    ///
    /// - Throws: The refusal, with `accessDenied` as for a bucket that does not exist; the flaw of a place that can be
    ///   no key, where the caller has a grant in the bucket.
    func checkCoverage(of place: RemoteString.Place) throws(Refusal) {
        let subject = caller.subject
        guard policy.bucket != nil else { throw policy.refusalWithoutBucket(place.bucket, for: subject) }
        if let flaw = place.flaw {
            let isKnown = subject.ticket == nil && policy.allowsAnything(in: place.bucket, for: subject)
            throw isKnown ? Refusal.unmet(flaw) : Refusal.noGrant
        }
        guard subject.mayAsk(for: string.action, on: place.key, in: place.bucket) else { throw .outsideTicket }
        let coverage = policy.coverage(
            of: string.action, on: place.key, listing: place.listing, in: place.bucket, for: subject,
            Circumstances(sourceAddress: sourceAddress, now: now))
        if case .refused(let refusal) = coverage { throw refusal }
    }

    /// Returns the bucket and the credential that would sign.
    func signer() throws(Refusal) -> (Bucket, StorageCredential) {
        guard let bucket = policy.bucket else { throw .noSuchBucket }
        guard let credential = policy.credential else { throw .failed(.unusableCredential(of: bucket)) }
        guard scheme.fits(bucket), credential.kind == .accessKey else {
            throw .unmet(
                .notEnforceable(reason: "The bucket takes no signatures of this kind; " + Self.otherDeliveries))
        }
        return (bucket, credential)
    }

    /// Checks the string against the rules that do not depend on grants.
    func permitted(
        in bucket: Bucket, with credential: StorageCredential
    ) throws(Refusal) -> (string: PermittedString, headers: [NamedValue]) {
        guard let instant = SigningInstant(epochSeconds: Int64(now.timeIntervalSince1970)) else {
            throw .failed(.unavailable(retryAfter: 60, cause: "the clock is outside of what a signature can say"))
        }
        let rules = StringRules(
            now: instant, maxLifeSeconds: bucket.maxTTL, securityToken: credential.sessionToken?.reveal(),
            callback: bucket.callback.map { .init(value: $0, variables: bucket.callbackVar) },
            encryption: bucket.encryptionHeaders, partsNeedType: bucket.provider == .s3)
        do throws(GatewayError) {
            return try string.permitted(by: rules, in: bucket, credential)
        } catch {
            // The bucket has no address that can be signed for.
            if case .unavailable = error { throw .failed(error) }
            throw .unmet(error)
        }
    }

    /// A presigned URL with the same effect as the string, and what permits it.
    struct Consent {
        let request: IssueRequest
        let permit: Permit
    }

    /// Decides as if presigned URLs with the same effects were requested, using what the string binds.
    ///
    /// - Returns: The consent to what the string says, and the one to its hidden action, if it has one.
    func decided(
        _ permission: StringPermission, in bucket: Bucket, contentType: String?, id: UUID
    ) throws(Refusal) -> (Consent, hidden: Consent?) {
        if bucket.binding.closesUploads, scheme == .awsV4, permission.operation.isUpload {
            throw .unmet(
                .notEnforceable(
                    reason: "The bucket's store obeys headers that no signature lists; " + Self.otherDeliveries))
        }
        if permission.operation.beginsObject, !bucket.encrypts(by: string.scheme) {
            throw .unmet(
                .notEnforceable(
                    reason: "Amazon S3 encrypts with KMS only what is signed by 'aws-v4'; " + Self.otherDeliveries))
        }
        if permission.operation == .uploadPart, bucket.encryption != nil, string.mayBeWhole(at: bucket) {
            let reason = "The store may take the part for a whole object, which nothing would encrypt; "
            throw .unmet(.notEnforceable(reason: reason + Self.otherDeliveries))
        }
        var hidden: Consent?
        if let action = hiddenAction(of: permission.operation, in: bucket) {
            hidden = try decided(permission) { () throws(GatewayError) in
                try request(for: permission, in: bucket, performing: action, contentType: nil)
            }
        }
        let open = try decided(permission) { () throws(GatewayError) in
            try request(
                for: permission, in: bucket, performing: permission.operation.action, contentType: contentType,
                multipart: multipartStep(permission, id: id))
        }
        return (open, hidden)
    }

    private func decided(
        _ permission: StringPermission, _ makeRequest: () throws(GatewayError) -> IssueRequest
    ) throws(Refusal) -> Consent {
        let request: IssueRequest
        do throws(GatewayError) {
            request = try makeRequest()
        } catch {
            throw .unmet(error)
        }
        switch decide(request, for: caller.subject, under: policy, sourceAddress: sourceAddress, now: now) {
        case .refuse(let refusal):
            guard refusal.error == .conditionFailed(.contentLengthRequired) else { throw refusal }
            throw .unmet(
                .notEnforceable(
                    reason: "The signature does not bind the length of the object; " + Self.otherDeliveries),
                of: refusal.grant)
        case .permit(let permit):
            try check(permit, covers: permission, life: request.expiresIn)
            return Consent(request: request, permit: permit)
        }
    }

    /// What the signature permits as well, if its holder hides the parameter `uploadId`: what would list the parts or
    /// abort the upload reads or deletes the object.
    private func hiddenAction(of operation: ObjectOperation, in bucket: Bucket) -> Action? {
        guard string.hidesParameters(at: bucket) else { return nil }
        return switch operation {
        case .listParts: .getObject
        case .abortMultipartUpload: .deleteObject
        default: nil
        }
    }

    /// Returns the request for a presigned URL with the same effect.
    private func request(
        for permission: StringPermission, in bucket: Bucket, performing action: Action, contentType: String?,
        multipart: MultipartStep? = nil
    ) throws(GatewayError) -> IssueRequest {
        var fields = IssueRequest.Fields()
        fields.bucket = permission.bucket
        fields.key = permission.key
        fields.expiresIn = Int(permission.validUntil.epochSeconds - Int64(now.timeIntervalSince1970.rounded(.down)))
        fields.action = action.rawValue
        switch action {
        case .putObject:
            fields.contentType = contentType
            fields.contentMD5 = permission.contentMD5
            fields.contentLength = permission.contentLength
        case .getObject:
            fields.method = string.method
            fields.response = response(permission.query)
            fields.process = permission.query.first { $0.name == "x-oss-process" }?.value
            fields.versionID = permission.query.first { $0.name == "versionId" }?.value
        case .listObjects:
            fields.key = nil
            fields.prefix = upload.key.rawValue
            fields.list = Listing.Fields(permission.query)
        case .deleteObject: break
        }
        return try IssueRequest(
            fields, delivery: .remoteSignature, multipart: multipart, repeatable: nil,
            binding: string.binding(at: bucket), newName: nil)
    }

    /// Returns the step of a multipart upload that the request performs. The signed data never states the size of the
    /// whole object.
    private func multipartStep(_ permission: StringPermission, id: UUID) -> MultipartStep? {
        let uploadID = permission.uploadID ?? ""
        return switch permission.operation {
        case .putObject, .getObject, .headObject, .getObjectMeta, .deleteObject, .listObjects: nil
        case .initiateMultipartUpload: .start(objectLength: nil)
        case .uploadPart:
            .part(.init(storeUploadID: uploadID, number: permission.partNumber ?? 0, issuance: id))
        case .completeMultipartUpload: .complete(storeUploadID: uploadID, objectLength: nil)
        case .abortMultipartUpload, .listParts: .upkeep(storeUploadID: uploadID, method: string.method)
        }
    }

    /// Checks that the string already meets the permit. The client has fixed lifetime, headers and parameters, so a
    /// string that the permit would change cannot be signed.
    private func check(_ permit: Permit, covers permission: StringPermission, life: Int?) throws(Refusal) {
        guard permit.expiresIn >= life ?? 0 else {
            throw .unmet(
                .notEnforceable(
                    reason: """
                        The signature would be valid for longer than the \(permit.expiresIn) seconds that are allowed; \
                        \(Self.otherDeliveries)
                        """))
        }
        // Only what a grant forces can be missing: the rest of the request was read from the string.
        if let parameter = permit.query.first(where: { !permission.query.contains($0) }) {
            let missing = "'\(parameter.name)=\(parameter.value)'"
            let reason = "The grant forces downloads, and the string does not hold \(missing); "
            throw .unmet(.notEnforceable(reason: reason + Self.otherDeliveries))
        }
        if let header = permit.headers.first(where: { !permission.binds($0) }) {
            throw .unmet(
                .notEnforceable(reason: "The string does not bind '\(header.name)'; \(Self.otherDeliveries)"))
        }
    }

    private func response(_ query: [NamedValue]) -> ResponseOverrides.Fields? {
        var fields = ResponseOverrides.Fields()
        var isThere = false
        for parameter in query where parameter.name.utf8.starts(with: "response-".utf8) {
            isThere = true
            switch parameter.name {
            case "response-cache-control": fields.cacheControl = parameter.value
            case "response-content-disposition": fields.contentDisposition = parameter.value
            case "response-content-encoding": fields.contentEncoding = parameter.value
            case "response-content-language": fields.contentLanguage = parameter.value
            case "response-content-type": fields.contentType = parameter.value
            default: fields.expires = parameter.value
            }
        }
        return isThere ? fields : nil
    }

    /// Creates the proposal for the ledger. It names the hidden action, which does more, and what permits that; quotas
    /// of both actions are charged.
    func proposal(
        id: UUID, _ permit: Permit, hidden: Consent?, _ permission: StringPermission, expiresAt: Date,
        requestID: String
    ) -> IssuanceProposal {
        let grant = (hidden?.permit ?? permit).grant
        return IssuanceProposal(
            id: id,
            position: caller.position,
            scopes: policy.scopes(with: caller),
            principal: caller.principal,
            matchedPrincipal: grant.principal,
            grantID: grant.id,
            credentialID: permit.credential.id,
            // A part is no object: nobody can ask what became of it, and no store reports it.
            delivery: permission.operation == .uploadPart ? .multipartPart : .remoteSignature,
            action: hidden?.request.action ?? permission.operation.action,
            method: string.method,
            bucket: permit.bucket.name,
            key: ExactText(upload.key.rawValue),
            expiresAt: expiresAt,
            contentType: permission.contentType,
            contentMD5: permission.contentMD5.flatMap { Base64.decode($0) },
            contentLength: permission.contentLength,
            requestID: requestID,
            charges: hidden.map { policy.charges(for: caller.subject, of: permit, and: $0.request) } ?? permit.charges
        )
    }

    /// Returns the signature and, if the scheme defines it, the value of the `Authorization` header.
    func signature(
        of permitted: PermittedString, in bucket: Bucket, with credential: StorageCredential
    ) throws(GatewayError) -> (signature: String, authorization: String?) {
        do throws(SigningError) {
            switch string {
            case .plain:
                let (signature, authorization) = try permitted.sign(with: SigningKeyV2(credential.forSigning))
                return (signature, authorization)
            case .hashed:
                let key = try Self.key(of: credential, .oss(region: bucket.region), for: permitted)
                return (try permitted.sign(with: key), nil)
            case .request:
                let key = try Self.key(of: credential, .aws(region: bucket.region), for: permitted)
                let (signature, authorization) = try permitted.authorization(with: key)
                return (signature, authorization)
            }
        } catch {
            throw .unavailable(retryAfter: 60, cause: "bucket \(bucket.name) cannot be signed for: \(error.code)")
        }
    }

    /// Returns the key for the day that the string states.
    private static func key(
        of credential: StorageCredential, _ scope: CredentialScope, for permitted: PermittedString
    ) throws(SigningError) -> SigningKeyV4 {
        let lines = permitted.text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        guard lines.count > 1, let instant = SigningInstant(basic: String(Substring(lines[1]))) else {
            throw .keyOfAnotherScheme
        }
        return try SigningKeyV4(credential.forSigning, scope: scope, at: instant)
    }
}

extension ObjectOperation {
    /// The action that permits the operation.
    fileprivate var action: Action {
        switch self {
        case .getObject, .headObject, .getObjectMeta: .getObject
        case .listObjects: .listObjects
        case .deleteObject: .deleteObject
        case .putObject, .initiateMultipartUpload, .uploadPart, .completeMultipartUpload, .abortMultipartUpload,
            .listParts:
            .putObject
        }
    }
}
