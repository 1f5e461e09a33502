import Bytes

/// A "version 4" signature in the `Authorization` header, stage by stage.
struct V4Authorizing {
    let canonicalRequest: V4CanonicalRequest
    let stringToSign: [UInt8]
    let signature: V4Signature
    let authorization: String
    private let request: SignableRequest
    private let headers: BoundHeaders

    /// Signs a request with a key of one of the vendor's schemes.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - vendor: Vendor of the scheme.
    ///   - key: Key of the credential for the day of `instant`.
    ///   - instant: When the request is made.
    ///   - payloadHeader: Whether a header gives the hash of the body. S3 and OSS require it, other services do not.
    /// - Throws: ``SigningError`` for a request that the scheme cannot express.
    init(
        _ request: SignableRequest, vendor: StoreVendor, key: SigningKeyV4, instant: SigningInstant,
        payloadHeader: Bool = true
    ) throws(SigningError) {
        try key.check(vendor: vendor, at: instant)
        let dialect = key.dialect
        try V4Stages.check(method: request.method, query: request.query, dialect: dialect)
        var own = [NamedValue("\(dialect.headerPrefix)date", instant.basic)]
        if payloadHeader { own.append(NamedValue(dialect.headerForm.payloadHeader, request.payload.text)) }
        if let token = key.securityToken { own.append(NamedValue("\(dialect.headerPrefix)security-token", token)) }
        headers = try BoundHeaders(
            request.headers, own: own, address: request.address, bindsHost: dialect.bindsHost,
            form: dialect.headerForm, vendor: vendor
        )
        canonicalRequest = V4CanonicalRequest(
            method: request.method,
            path: V4Stages.canonicalPath(of: request.address, key: request.key, dialect: dialect),
            query: CanonicalQuery(request.query, writesBareNames: dialect.writesBareNames),
            headers: headers, payload: request.payload
        )
        let text = key.stringToSign(canonicalRequest.bytes, at: instant)
        stringToSign = text
        signature = try key.signer.signature(of: text.span)
        authorization = Self.authorization(key: key, headers: headers, signature: signature)
        self.request = request
    }

    /// The request with all stages, and with the body if the scheme writes it.
    func authorizedRequest(body: String? = nil) -> AuthorizedRequest {
        AuthorizedRequest(
            request,
            canonicalRequest: canonicalRequest,
            stringToSign: stringToSign,
            signature: signature.hex,
            authorization: authorization,
            headers: headers,
            body: body
        )
    }

    /// Last stage: who signed, which headers are bound, and the signature.
    private static func authorization(
        key: SigningKeyV4, headers: BoundHeaders, signature: V4Signature
    ) -> String {
        var parts = ["\(key.dialect.algorithm) Credential=\(key.credentialText)"]
        let names = headers.section.names
        switch key.dialect.vendor {
        case .alibaba: if !names.isEmpty { parts.append("AdditionalHeaders=\(names)") }
        case .amazon, .google: parts.append("SignedHeaders=\(names)")
        }
        parts.append("Signature=\(signature.hex)")
        return parts.joined(separator: key.dialect.authorizationSeparator)
    }
}

extension AuthorizedRequest {
    /// Describes a request by the stages of a scheme that has a canonical request.
    init(
        _ request: SignableRequest,
        canonicalRequest: V4CanonicalRequest,
        stringToSign: [UInt8],
        signature: String,
        authorization: String,
        headers: BoundHeaders,
        body: String?
    ) {
        let path = V4Stages.path(
            of: request.address, key: request.key, keeping: .unreservedAndSlash)
        let query = canonicalRequest.query
        let target = path + (query.isEmpty ? [] : Array("?".utf8) + query)
        self.init(
            method: request.method,
            url: request.address.origin + String(decoding: target, as: UTF8.self),
            path: String(decoding: path, as: UTF8.self),
            query: ReceivedQuery.pairs(in: query[...]) ?? [],
            headers: headers.toSend + [NamedValue("authorization", authorization)],
            body: body,
            canonicalRequest: String(decoding: canonicalRequest.bytes, as: UTF8.self),
            stringToSign: String(decoding: stringToSign, as: UTF8.self),
            signature: signature,
            authorization: authorization
        )
    }
}
