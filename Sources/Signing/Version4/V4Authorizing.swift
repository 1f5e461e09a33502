/// A "version 4" signature in the `Authorization` header, stage by stage, as bytes.
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
    ///   - vendor: Whose scheme.
    ///   - key: Key of the credential for the day of `instant`.
    ///   - instant: When the request is made.
    ///   - payloadHeader: Whether a header gives the hash of the body. S3 and OSS want it, other services do not.
    /// - Throws: ``SigningError`` for a request that the scheme cannot express.
    init(
        _ request: SignableRequest, vendor: V4Dialect.Vendor, key: SigningKeyV4, instant: SigningInstant,
        payloadHeader: Bool = true
    ) throws(SigningError) {
        try key.check(vendor: vendor, at: instant)
        let dialect = key.dialect
        try V4Stages.check(method: request.method, query: request.query, dialect: dialect)
        var own = [NamedValue("\(dialect.headerPrefix)date", instant.basic)]
        if payloadHeader { own.append(NamedValue(dialect.payloadHeader, request.payload.text)) }
        if let token = key.securityToken { own.append(NamedValue("\(dialect.headerPrefix)security-token", token)) }
        headers = try BoundHeaders(
            request.headers, own: own, address: request.address, bindsHost: dialect.bindsHost, vendor: vendor
        )
        let canonicalHeaders = CanonicalHeaders(headers.fields, dialect: dialect)
        canonicalRequest = Self.canonicalRequest(request, headers: canonicalHeaders, dialect: dialect)
        stringToSign = V4Stages.stringToSign(
            canonicalRequest.bytes, scope: key.scope, instant: instant, dialect: dialect
        )
        signature = try key.signature(of: stringToSign)
        authorization = Self.authorization(key: key, headers: canonicalHeaders, signature: signature)
        self.request = request
    }

    /// The request with all stages, as texts, and with the body where the scheme wrote it.
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

    /// First stage: the request as one text.
    private static func canonicalRequest(
        _ request: SignableRequest, headers: CanonicalHeaders, dialect: V4Dialect
    ) -> V4CanonicalRequest {
        V4CanonicalRequest(
            method: request.method,
            appendPath: {
                V4Stages.appendCanonicalPath(of: request.address, key: request.key, dialect: dialect, to: &$0)
            },
            appendQuery: { buffer in
                var query = CanonicalQuery(writesBareNames: dialect.writesBareNames)
                for parameter in request.query { query.add(parameter.name, parameter.value) }
                query.append(to: &buffer)
            },
            headers: headers,
            payload: request.payload
        )
    }

    /// Last stage: who signed, which headers are bound, and the signature.
    private static func authorization(
        key: SigningKeyV4, headers: CanonicalHeaders, signature: V4Signature
    ) -> String {
        var parts = ["\(key.dialect.algorithm) Credential=\(key.credentialText)"]
        let names = String(decoding: headers.names, as: UTF8.self)
        switch key.dialect.vendor {
        case .oss: if !names.isEmpty { parts.append("AdditionalHeaders=\(names)") }
        case .aws, .gcs: parts.append("SignedHeaders=\(names)")
        }
        parts.append("Signature=\(signature.hex)")
        return parts.joined(separator: key.dialect.authorizationSeparator)
    }
}

extension AuthorizedRequest {
    /// Makes texts of the stages of a scheme that has a canonical request.
    init(
        _ request: SignableRequest,
        canonicalRequest: V4CanonicalRequest,
        stringToSign: [UInt8],
        signature: String,
        authorization: String,
        headers: BoundHeaders,
        body: String?
    ) {
        var path: [UInt8] = []
        V4Stages.appendPath(
            of: request.address, key: request.key, keeping: PercentEncoding.unreservedAndSlash, to: &path)
        let query = canonicalRequest.query
        let target = path + (query.isEmpty ? [] : Array("?".utf8) + query)
        self.init(
            method: request.method,
            url: request.address.origin + String(decoding: target, as: UTF8.self),
            path: String(decoding: path, as: UTF8.self),
            query: ReceivedQuery.pairs(in: query) ?? [],
            headers: headers.toSend + [NamedValue("authorization", authorization)],
            body: body,
            canonicalRequest: String(decoding: canonicalRequest.bytes, as: UTF8.self),
            stringToSign: String(decoding: stringToSign, as: UTF8.self),
            signature: signature,
            authorization: authorization
        )
    }
}
