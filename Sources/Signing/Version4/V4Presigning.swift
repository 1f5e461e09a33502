/// A "version 4" signature in the query, stage by stage, as bytes.
struct V4Presigning {
    let canonicalRequest: V4CanonicalRequest
    let stringToSign: [UInt8]
    let signature: V4Signature
    let path: [UInt8]
    let url: [UInt8]
    private let headers: BoundHeaders
    private let dialect: V4Dialect

    /// Signs a request with a key of one of the vendor's schemes.
    ///
    /// - Throws: ``SigningError`` for a request that the scheme cannot express.
    init(
        _ request: PresignRequest, vendor: V4Dialect.Vendor, key: SigningKeyV4, instant: SigningInstant
    ) throws(SigningError) {
        try key.check(vendor: vendor, at: instant)
        dialect = key.dialect
        try V4Stages.check(method: request.method, query: request.query, dialect: dialect)
        guard V4Dialect.expiryRange.contains(request.expiresInSeconds) else {
            throw .expiryOutOfRange(seconds: request.expiresInSeconds, allowed: V4Dialect.expiryRange)
        }
        headers = try BoundHeaders(
            request.headers, address: request.address, bindsHost: dialect.bindsHost, vendor: vendor
        )
        canonicalRequest = Self.canonicalRequest(
            request, headers: CanonicalHeaders(headers.fields, dialect: dialect), key: key, instant: instant
        )
        stringToSign = V4Stages.stringToSign(
            canonicalRequest.bytes, scope: key.scope, instant: instant, dialect: dialect
        )
        signature = try key.signature(of: stringToSign)
        path = try Self.path(of: request, canonicalPath: canonicalRequest.path, dialect: dialect)
        url = Self.url(
            request.address.origin, path: path, query: canonicalRequest.query, signature: signature, dialect: dialect
        )
    }

    /// The URL with all stages, as texts.
    var presignedURL: PresignedURL {
        var query = ReceivedQuery.pairs(in: canonicalRequest.query) ?? []
        query.append(NamedValue(dialect.parameters.signature, signature.hex))
        return PresignedURL(
            url: String(decoding: url, as: UTF8.self),
            path: String(decoding: path, as: UTF8.self),
            query: query,
            canonicalRequest: String(decoding: canonicalRequest.bytes, as: UTF8.self),
            stringToSign: String(decoding: stringToSign, as: UTF8.self),
            signature: signature.hex,
            requiredHeaders: headers.toSend
        )
    }

    /// First stage: the request as one text.
    private static func canonicalRequest(
        _ request: PresignRequest, headers: CanonicalHeaders, key: SigningKeyV4, instant: SigningInstant
    ) -> V4CanonicalRequest {
        V4CanonicalRequest(
            method: request.method,
            appendPath: {
                V4Stages.appendCanonicalPath(of: request.address, key: request.key, dialect: key.dialect, to: &$0)
            },
            appendQuery: { buffer in
                canonicalQuery(request, headers: headers, key: key, instant: instant).append(to: &buffer)
            },
            headers: headers
        )
    }

    private static func canonicalQuery(
        _ request: PresignRequest, headers: CanonicalHeaders, key: SigningKeyV4, instant: SigningInstant
    ) -> CanonicalQuery {
        let dialect = key.dialect
        let names = dialect.parameters
        var query = CanonicalQuery(writesBareNames: dialect.writesBareNames)
        query.add(unreserved: names.algorithm) { $0 += dialect.algorithm.utf8 }
        query.add(unreserved: names.credential) { $0 += key.encodedCredential }
        query.add(unreserved: names.date) { instant.appendBasic(to: &$0) }
        query.add(unreserved: names.expires) { $0 += String(request.expiresInSeconds).utf8 }
        if let name = names.securityToken, let token = key.encodedSecurityToken {
            query.add(unreserved: name) { $0 += token }
        }
        if !headers.names.isEmpty {
            query.add(unreserved: names.headerNames) {
                PercentEncoding.append(headers.names.span, keeping: PercentEncoding.unreserved, to: &$0)
            }
        }
        for parameter in request.query { query.add(parameter.name, parameter.value) }
        return query
    }

    /// The path as the URL shall show it.
    private static func path(
        of request: PresignRequest, canonicalPath: ArraySlice<UInt8>, dialect: V4Dialect
    ) throws(SigningError) -> [UInt8] {
        func encoded(keeping kept: PercentEncoding.ByteSet) -> [UInt8] {
            var path: [UInt8] = []
            V4Stages.appendPath(of: request.address, key: request.key, keeping: kept, to: &path)
            return path
        }
        switch request.pathForm {
        case .slashKept:
            return dialect.pathAlwaysNamesBucket
                ? encoded(keeping: PercentEncoding.unreservedAndSlash) : Array(canonicalPath)
        case .slashEscaped:
            return encoded(keeping: PercentEncoding.unreserved)
        case .asSent(let path):
            let bytes = Array(path.utf8)
            let object = PercentEncoding.decode(
                encoded(keeping: PercentEncoding.unreservedAndSlash), plusIsSpace: false)
            guard bytes.allSatisfy(PercentEncoding.pathCharacters.contains),
                let decoded = PercentEncoding.decode(bytes, plusIsSpace: false), decoded == object
            else { throw .pathNamesAnotherObject(path) }
            return bytes
        }
    }

    /// Last stage: origin, path, query and signature.
    private static func url(
        _ origin: String, path: [UInt8], query: ArraySlice<UInt8>, signature: V4Signature, dialect: V4Dialect
    ) -> [UInt8] {
        var url: [UInt8] = []
        url.reserveCapacity(origin.utf8.count + path.count + query.count + 32 + signature.hexByteCount)
        url += origin.utf8
        url += path
        url.append(UInt8(ascii: "?"))
        url += query
        url.append(UInt8(ascii: "&"))
        url += dialect.parameters.signature.utf8
        url.append(UInt8(ascii: "="))
        signature.appendHex(to: &url)
        return url
    }
}
