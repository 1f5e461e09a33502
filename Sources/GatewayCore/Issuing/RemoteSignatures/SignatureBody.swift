import FoundationEssentials
import Signing

/// A signature for a request that the client sends itself.
struct SignatureBody: ProvenBody {
    struct Content {
        let accessKeyID: String
        let signature: Secret<String>
        let authorization: Secret<String>?
        let headers: [NamedValue]
        let start: RemoteSignature.Start?
    }

    let string: RemoteString
    let scheme: RemoteSignatures.Scheme
    let place: RemoteString.Place
    let uploads: any RemoteUploadStore

    var target: RefusalTarget { RefusalTarget(string.action, on: place.key.rawValue, in: place.bucket) }

    var endsUpload: Bool { string.endsUpload }

    func policy(for caller: Caller, in cache: PolicyCache) async throws(GatewayError) -> AccessPolicy {
        try await cache.access(
            of: caller.principal, groups: caller.groups, to: place.bucket, key: place.key, listing: place.listing)
    }

    func draft(
        under policy: AccessPolicy, in attempt: ProofAttempt, at instant: Date, for issuing: ProvenIssuing
    ) async throws(GatewayError) -> Drafted<Content> {
        let step = RemoteStep(
            string: string, scheme: scheme,
            upload: RemoteUpload(principal: attempt.caller.principal, bucket: place.bucket, key: place.key),
            caller: attempt.caller, policy: policy, sourceAddress: attempt.context.sourceAddress, now: instant)
        let decided: Decided
        do throws(Refusal) {
            decided = try await self.decided(step, attempt.context, issuing)
        } catch {
            // A failure decides nothing.
            guard error.reason != .failed else { throw error.error }
            return .refused(error)
        }
        return .draft(try signed(decided, step, attempt.context))
    }

    func issued(_ draft: Draft<Content>, quotas: [QuotaBalance]) -> RemoteSignature {
        let (proposal, content) = (draft.proposal, draft.content)
        return RemoteSignature(
            id: proposal.id, accessKeyID: content.accessKeyID, signature: content.signature,
            authorization: content.authorization, headers: content.headers, expiresAt: proposal.expiresAt,
            quotas: quotas, start: content.start)
    }

    /// A string that may be signed, and what signs it.
    private struct Decided {
        let string: PermittedString
        /// Headers that the client must send besides those of its own request.
        let headers: [NamedValue]
        let bucket: Bucket
        let credential: StorageCredential
        /// The content type that the object gets; `nil` if nothing is uploaded.
        let contentType: String?
        let id: UUID
        let consent: RemoteStep.Consent
        let hidden: RemoteStep.Consent?
    }

    private func decided(
        _ step: RemoteStep, _ context: RequestContext, _ issuing: ProvenIssuing
    ) async throws(Refusal) -> Decided {
        try step.checkCoverage(of: place)
        let (bucket, credential) = try step.signer()
        let (permitted, headers) = try step.permitted(in: bucket, with: credential)
        guard permitted.permission.bucket == bucket.name.rawValue,
            place.listing != nil
                ? permitted.permission.key.isEmpty && permitted.permission.operation == .listObjects
                : ExactText(permitted.permission.key) == ExactText(place.key.rawValue)
        else { throw .noGrant }
        let types = try await contentTypes(of: permitted.permission, step, in: bucket)
        let id: UUID
        do throws(GatewayError) {
            id = try issuing.id(of: context.repeatable?.issuance(at: 0), at: step.now)
        } catch {
            throw .failed(error)
        }
        for other in types.dropFirst() {
            _ = try step.decided(permitted.permission, in: bucket, contentType: other, id: id)
        }
        let (consent, hidden) = try step.decided(
            permitted.permission, in: bucket, contentType: types.first, id: id)
        return Decided(
            string: permitted, headers: headers, bucket: bucket, credential: credential, contentType: types.first,
            id: id, consent: consent, hidden: hidden)
    }

    private func signed(
        _ decided: Decided, _ step: RemoteStep, _ context: RequestContext
    ) throws(GatewayError) -> Draft<Content> {
        let (permission, credential) = (decided.string.permission, decided.credential)
        try prove(
            StringArtefact(decided.string, for: decided.bucket), by: decided.consent.permit, of: decided.consent.request
        )
        let expiresAt = Date(timeIntervalSince1970: TimeInterval(permission.validUntil.epochSeconds))
        let (signature, authorization) = try step.signature(of: decided.string, in: decided.bucket, with: credential)
        return Draft(
            step.proposal(
                id: decided.id, decided.consent.permit, hidden: decided.hidden, permission, expiresAt: expiresAt,
                requestID: context.requestID),
            Content(
                accessKeyID: credential.accessKeyID, signature: Secret(signature),
                authorization: authorization.map { Secret($0) }, headers: decided.headers,
                start: permission.operation == .initiateMultipartUpload
                    ? decided.contentType.map { RemoteSignature.Start(upload: step.upload, contentType: $0) } : nil),
            by: .store(step.string.scheme))
    }

    /// The content type that SDKs send with parts.
    private static let typeOfParts = "application/octet-stream"
    /// Maximum number of content types with which a user may have started uploads of a key. Each of them is decided
    /// for each part.
    private static let maxTypes = 16
    private static let tooManyTypes = GatewayError.notEnforceable(
        reason: "Uploads of this key were started with more than \(maxTypes) content types; use another key.")

    /// Returns the content types that the object may get, all of which must be permitted: the one of this request, or
    /// those of the requests of which one started the multipart upload. None if nothing is uploaded.
    private func contentTypes(
        of permission: StringPermission, _ step: RemoteStep, in bucket: Bucket
    ) async throws(Refusal) -> [String] {
        guard permission.operation.isUpload else { return [] }
        guard let uploadID = permission.uploadID else { return [permission.contentType].compactMap(\.self) }
        let known: [String]?
        do throws(GatewayError) {
            known = try await uploads.contentTypes(ofUpload: uploadID, step.upload)
        } catch {
            throw .failed(error)
        }
        guard let types = known else { throw .noGrant }
        guard types.count <= Self.maxTypes else { throw .unmet(Self.tooManyTypes) }
        // The version 2 string of a part is also that of a whole object: of one whose key ends with the parameters, or
        // of a request whose first parameter ends with the second. So it may bind only the type of the upload, or the
        // one that SDKs send with parts.
        guard case .plain = step.string, permission.operation == .uploadPart else { return types }
        let typesOfParts = types + [Self.typeOfParts]
        // Stores that choose no type by the key give an object without one this type, or `binary/octet-stream`. At the
        // others, the part's string is refused.
        let own = permission.contentType ?? Self.typeOfParts
        guard typesOfParts.contains(own) else {
            throw .unmet(.conditionFailed(.contentType(allowed: typesOfParts)))
        }
        return step.string.mayBeWhole(at: bucket) && !types.contains(own) ? types + [own] : types
    }
}
