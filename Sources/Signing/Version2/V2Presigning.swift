import LibCrypto

/// A "version 2" signature in the query, stage by stage.
struct V2Presigning {
    /// What is signed.
    let stringToSign: [UInt8]
    /// The percent-encoded path of the URL.
    let path: [UInt8]
    /// The signature in base64.
    let signature: String
    /// The query without the signature.
    private let query: [UInt8]
    private let request: PresignRequest
    private let dialect: V2Dialect

    /// Signs a request.
    ///
    /// - Throws: ``SigningError`` for a request that the scheme cannot express, or that it would sign like another one.
    init(
        _ request: PresignRequest, dialect: V2Dialect, key: SigningKeyV2, instant: SigningInstant
    ) throws(SigningError) {
        self.dialect = dialect
        self.request = request
        let expires = try Self.expiry(of: request, instant: instant)
        var (headers, query) = try Self.openParts(of: request, dialect: dialect)
        switch (dialect.tokenForm, key.securityToken) {
        case (_, nil): break
        case (.unsupported, _?): throw .invalidCredential("the scheme has no place for a security token")
        case (.subResource(let name), let token?): query.append(NamedValue(name, token))
        case (.header(let name), let token?): headers.append(NamedValue(name, token))
        }
        let bound = try V2BoundParts(headers: headers, query: query, dialect: dialect)
        if let name = bound.unboundHeaders.first { throw .headerNotBindable(name) }
        let resource = V2Resource(address: request.address, key: request.key, pathForm: request.pathForm)
        path = try resource.urlPath(dialect)
        stringToSign = V2StringToSign.text(
            method: request.method, bound: bound, date: expires,
            path: resource.signedPath(dialect, urlPath: path)
        )
        signature = try key.signature(of: stringToSign, dialect: dialect)
        if case .header(let name) = dialect.tokenForm, let token = key.securityToken {
            query.append(NamedValue(name, token))
        }
        if dialect.showsContentHeaders {
            for (name, value) in [("content-type", bound.contentType), ("content-md5", bound.contentMD5)]
            where !value.isEmpty {
                query.append(NamedValue(name, String(decoding: value, as: UTF8.self)))
            }
        }
        self.query = Self.query(query, bound: bound, expires: expires, key: key, dialect: dialect)
    }

    /// Last stage: origin, path, query and signature.
    var url: String {
        var url: [UInt8] = []
        let origin = request.address.origin.utf8
        url.reserveCapacity(origin.count + path.count + query.count + 64 + signature.utf8.count * 3)
        url += origin
        url += path
        url.append(UInt8(ascii: "?"))
        url += query
        url.append(UInt8(ascii: "&"))
        url += dialect.parameters.signature.utf8
        url.append(UInt8(ascii: "="))
        // Base64 holds '+', which a store would read as a space.
        PercentEncoding.append(signature, keeping: PercentEncoding.unreserved, to: &url)
        return String(decoding: url, as: UTF8.self)
    }

    /// The URL with each stage that led to it.
    var presignedURL: PresignedURL {
        PresignedURL(
            url: url,
            path: String(decoding: path, as: UTF8.self),
            query: (ReceivedQuery.pairs(in: query[...]) ?? []) + [NamedValue(dialect.parameters.signature, signature)],
            canonicalRequest: "",
            stringToSign: String(decoding: stringToSign, as: UTF8.self),
            signature: signature,
            requiredHeaders: request.headers.map { NamedValue($0.name.lowercased(), $0.value) }
        )
    }

    /// The end of the URL's life as the date line has it: seconds since 1970.
    private static func expiry(of request: PresignRequest, instant: SigningInstant) throws(SigningError) -> String {
        try V2StringToSign.check(method: request.method)
        guard V2Dialect.expiryRange.contains(request.expiresInSeconds),
            let end = instant.advanced(bySeconds: request.expiresInSeconds)
        else { throw .expiryOutOfRange(seconds: request.expiresInSeconds, allowed: V2Dialect.expiryRange) }
        return String(end.epochSeconds)
    }

    /// Headers and parameters, none of which is the signer's own to write.
    private static func openParts(
        of request: PresignRequest, dialect: V2Dialect
    ) throws(SigningError) -> (headers: [NamedValue], query: [NamedValue]) {
        for header in request.headers {
            let name = header.name.lowercased()
            guard name != dialect.dateHeader, name != dialect.tokenHeader else { throw .reservedHeader(header.name) }
        }
        for parameter in request.query {
            var isReserved = dialect.parameters.contain(parameter.name)
            if case .subResource(let name) = dialect.tokenForm { isReserved = isReserved || parameter.name == name }
            // Stores take the vendor's headers out of the query as well.
            if case .header = dialect.tokenForm {
                isReserved = isReserved || parameter.name.lowercased().hasPrefix(dialect.headerPrefix)
            }
            if dialect.showsContentHeaders {
                isReserved = isReserved || ["content-type", "content-md5"].contains(parameter.name.lowercased())
            }
            guard !isReserved else { throw .reservedQueryParameter(parameter.name) }
        }
        return (request.headers, request.query)
    }

    private static func query(
        _ parameters: [NamedValue], bound: V2BoundParts, expires: String, key: SigningKeyV2, dialect: V2Dialect
    ) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(256)
        if case .form = dialect.resourceForm {
            bound.appendSubResources(to: &text)
            if !text.isEmpty {
                text.removeFirst()
                text.append(UInt8(ascii: "&"))
            }
        }
        for parameter in parameters {
            if case .form = dialect.resourceForm, dialect.subResources.contain(parameter.name) { continue }
            PercentEncoding.append(parameter, to: &text)
            text.append(UInt8(ascii: "&"))
        }
        text += dialect.parameters.accessKeyID.utf8
        text.append(UInt8(ascii: "="))
        text += key.encodedAccessKeyID
        text.append(UInt8(ascii: "&"))
        text += dialect.parameters.expires.utf8
        text.append(UInt8(ascii: "="))
        text += expires.utf8
        return text
    }
}
