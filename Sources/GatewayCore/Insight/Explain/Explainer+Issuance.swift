public import FoundationEssentials

extension Explainer {
    /// Explains why something was issued, from its ledger row and the policy at that time.
    ///
    /// - Parameter reach: What the admin who asks may see.
    /// - Throws: `notFound` if there is no such issuance, `slowDown`, `unavailable`.
    public func explain(
        issuance id: UUID, within reach: AdminReach
    ) async throws(GatewayError) -> Explanation {
        try await explain(try await issuances.issuance(id, within: reach)).shown(within: reach)
    }

    private func explain(_ row: RecordedIssuance) async throws(GatewayError) -> Explanation {
        var explanation = Explanation(.recorded)
        explanation.issuance = row
        explanation.isCurrent = false
        explanation.assumptions = [.credentialUnknown]
        explanation.moment = try await history.moment(ofChange: row.policySequence)
        let grant = try await history.grant(row.grantID, after: row.policySequence)
        explanation.decidedBy = grant
        guard let moment = explanation.moment, let caller = try? Principal(row.principal) else { return explanation }
        try await describe(row, moment, caller, decidedBy: grant, in: &explanation)
        return explanation
    }

    private func describe(
        _ row: RecordedIssuance, _ moment: PolicyMoment, _ caller: Principal, decidedBy grant: Grant?,
        in explanation: inout Explanation
    ) async throws(GatewayError) {
        let matched = try? Principal(row.matchedPrincipal)
        var members = [Explanation.Member(principal: caller, origin: .caller)]
        for group in try await history.groups(of: caller, after: moment.sequence) {
            members.append(.init(principal: group, origin: .membership))
        }
        if let matched, matched != .anyone, !members.contains(where: { $0.principal == matched }) {
            members.append(.init(principal: matched, origin: .ledger))
        }
        members.append(.init(principal: .anyone, origin: .everyone))
        explanation.members = members
        guard let request = try? IssueRequest.recorded(row).first else { return }
        // The values that the key has in place of the template's variables are the claims that the credential had.
        let subject = Subject(principal: caller, knownClaims: grant?.prefix.claims(in: request.key) ?? [:])
        let grants = try await history.grants(
            of: members.map(\.principal), in: request.bucket, for: request.key,
            listing: request.listing?.folder, after: moment.sequence)
        let policy = AccessPolicy(
            position: PolicyPosition(sequence: moment.sequence, tag: row.id),
            principals: members.map { PrincipalPolicy(principal: $0.principal, rows: PrincipalRows()) },
            literalGrants: grants, bucket: nil, credential: nil, scopes: [])
        explanation.matches = policy.matches(of: request, for: subject).map { match, prefix in
            Explanation.Match(
                grant: match, prefix: prefix, outcome: match.id == row.grantID ? .permits : nil)
        }
    }
}

extension IssueRequest {
    /// Returns requests like the one that an issuance answered, as far as the ledger records it: one for each action of
    /// temporary credentials, and one for each content type of a form.
    static func recorded(_ row: RecordedIssuance) throws(GatewayError) -> [IssueRequest] {
        let isForm = row.delivery == Delivery.postPolicy.rawValue
        let types = isForm ? contentTypes(in: row.contentType) : [row.contentType]
        var requests: [IssueRequest] = []
        for action in row.actions.isEmpty ? [nil] : row.actions.map(Optional.some) {
            for type in types { requests.append(try IssueRequest(recorded: row, action: action, contentType: type)) }
        }
        return requests
    }

    /// The content types of a form, which the ledger lists with `, ` in between.
    static func contentTypes(in text: String?) -> [String?] {
        guard let text, MediaType(text) == nil else { return [text] }
        return text.utf8.split(separator: UInt8(ascii: ",")).map { type in
            String(Substring(type.drop { $0 == UInt8(ascii: " ") }))
        }
    }

    /// Creates a request like the one that an issuance answered.
    ///
    /// Temporary credentials and cookies, which cover a prefix, and forms that leave the name to the client are treated
    /// as requests for one object below the prefix.
    private convenience init(
        recorded row: RecordedIssuance, action: String?, contentType: String?
    ) throws(GatewayError) {
        var fields = Fields()
        fields.isKeyOnRecord = true
        fields.action = action
        fields.bucket = row.bucket
        fields.key = PostPolicyRequest.start(ofKey: row.key).map { $0 + "file" } ?? row.key
        let delivery = Delivery(rawValue: row.delivery) ?? .presignedURL
        if row.key.isEmpty || row.key.utf8.last == UInt8(ascii: "/"), delivery.reachesPrefix {
            fields.key = row.key + "file"
        }
        switch action.flatMap(Action.init(rawValue:)) {
        case .listObjects:
            fields.key = nil
            fields.prefix = row.key
        case .putObject:
            fields.contentType = (row.hidesContentType ? nil : contentType) ?? IssueRequest.unknownType
            fields.contentLength = row.contentLength
            fields.contentMD5 = row.contentMD5.map { Data($0).base64EncodedString() }
            fields.checksumSHA256 = row.contentSHA256.map { Data($0).base64EncodedString() }
        case .getObject: fields.method = row.method == "HEAD" ? "HEAD" : nil
        case .deleteObject, nil: break
        }
        let step: MultipartStep? =
            switch delivery {
            // The row does not contain the object's length. These steps send no object bytes to the store either.
            case .multipartStart, .multipartComplete: .complete(storeUploadID: "", objectLength: 0)
            case .multipartPart:
                .part(.init(storeUploadID: "", number: 1, issuance: row.id, objectLength: row.contentLength))
            case .remoteSignature where action == Action.putObject.rawValue: row.remoteStep
            case .presignedURL, .postPolicy, .redirect, .sts, .cdnCookies, .remoteSignature: nil
            }
        try self.init(fields, delivery: delivery, multipart: step, repeatable: nil, newName: nil)
    }

    /// Stands for a content type that the row does not tell. Patterns of grants do not cover it.
    private static let unknownType = "unknown/unknown"

    /// Whether the row does not tell the content type of the upload, which the grant that decided may have asked for.
    var hasUnknownType: Bool { contentType?.text == Self.unknownType }
}

extension RecordedIssuance {
    /// The step of an upload in parts that an SDK got a signature for; `nil` for an upload of the whole object. Starts
    /// and completions are decided alike, because neither states the length of the object.
    fileprivate var remoteStep: MultipartStep? {
        switch method {
        case "PUT": nil
        case "POST": .complete(storeUploadID: "", objectLength: nil)
        default: .upkeep(storeUploadID: "", method: method)
        }
    }

    /// Whether the row may name another content type than that of the upload in parts that it is a step of. SDKs send
    /// parts with this type, or without any.
    fileprivate var hidesContentType: Bool {
        switch Delivery(rawValue: delivery) {
        case .multipartPart: contentType == "application/octet-stream"
        case .remoteSignature: method != "PUT"
        default: false
        }
    }
}

extension KeyPrefix {
    /// Returns the claims with which a template covers a key; empty for a literal prefix or if the template does not
    /// fit.
    func claims(in key: ObjectKey) -> [String: String] { claims(in: key.rawValue) }

    /// Returns the claims with which a template covers a key, or everything below a prefix, as far as the prefix shows
    /// them.
    func claims(in place: String) -> [String: String] {
        guard case .template(let template) = self else { return [:] }
        let slash = UInt8(ascii: "/")
        let segments = template.rawValue.utf8.split(separator: slash, omittingEmptySubsequences: false)
        let parts = place.utf8.split(separator: slash, omittingEmptySubsequences: false)
        var claims: [String: String] = [:]
        for (segment, part) in zip(segments, parts) where !part.isEmpty {
            guard case .claim(let name)? = TemplateVariable(segment: segment) else { continue }
            claims[name] = String(Substring(part))
        }
        return claims
    }
}
