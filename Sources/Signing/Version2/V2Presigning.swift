import LibCrypto

/// The stages of a "version 2" signature in the query, up to what is signed.
struct V2Presigning {
    /// What is signed.
    let stringToSign: [UInt8]
    /// The percent-encoded path of the URL.
    let path: [UInt8]
    /// The query without the signature.
    private let query: [UInt8]
    private let origin: String
    private let dialect: V2Dialect

    /// Checks a request and writes what is signed.
    ///
    /// - Throws: ``SigningError`` for a request that the scheme cannot express.
    init(
        _ request: PresignRequest, signer: V2Signer, dialect: V2Dialect, instant: SigningInstant
    ) throws(SigningError) {
        self.dialect = dialect
        origin = request.address.origin
        let expires = try Self.expiry(of: request, instant: instant)
        var (headers, query) = try Self.openParts(of: request, dialect: dialect)
        switch (dialect.tokenForm, signer.securityToken) {
        case (_, nil): break
        case (.unsupported, _?): throw .invalidCredential("the scheme has no place for a security token")
        case (.subResource(let name), let token?): query.append(NamedValue(name, token))
        case (.header(let name), let token?): headers.append(NamedValue(name, token))
        }
        let bound = try V2BoundParts(headers: headers, query: query, dialect: dialect)
        if let name = bound.unboundHeaders.first { throw .headerNotBindable(name) }
        path = try V2Resource.urlPath(of: request, dialect: dialect)
        stringToSign = V2StringToSign.text(
            method: request.method, bound: bound, date: expires,
            path: V2Resource.signedPath(of: request, urlPath: path, dialect: dialect)
        )
        if case .header(let name) = dialect.tokenForm, let token = signer.securityToken {
            query.append(NamedValue(name, token))
        }
        if dialect.showsContentHeaders {
            for (name, value) in [("content-type", bound.contentType), ("content-md5", bound.contentMD5)]
            where !value.isEmpty {
                query.append(NamedValue(name, String(decoding: value, as: UTF8.self)))
            }
        }
        self.query = Self.query(query, bound: bound, expires: expires, signer: signer, dialect: dialect)
    }

    /// Last stage: origin, path, query and signature.
    func url(signature: String) -> [UInt8] {
        var url: [UInt8] = []
        url.reserveCapacity(origin.utf8.count + path.count + query.count + 64 + signature.utf8.count * 3)
        url += origin.utf8
        url += path
        url.append(UInt8(ascii: "?"))
        url += query
        url.append(UInt8(ascii: "&"))
        url += dialect.parameters.signature.utf8
        url.append(UInt8(ascii: "="))
        // Base64 holds '+', which a store would read as a space.
        PercentEncoding.append(signature, keeping: PercentEncoding.unreserved, to: &url)
        return url
    }

    /// The URL with each stage that led to it.
    func presigned(_ request: PresignRequest, signature: String) -> PresignedURL {
        PresignedURL(
            url: String(decoding: url(signature: signature), as: UTF8.self),
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
        guard !request.method.isEmpty, request.method.utf8.allSatisfy({ (0x41...0x5A).contains($0) }) else {
            throw .invalidMethod(request.method)
        }
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
        _ parameters: [NamedValue], bound: V2BoundParts, expires: String, signer: V2Signer, dialect: V2Dialect
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
            PercentEncoding.append(parameter.name, keeping: PercentEncoding.unreserved, to: &text)
            if !parameter.value.isEmpty {
                text.append(UInt8(ascii: "="))
                PercentEncoding.append(parameter.value, keeping: PercentEncoding.unreserved, to: &text)
            }
            text.append(UInt8(ascii: "&"))
        }
        text += dialect.parameters.accessKeyID.utf8
        text.append(UInt8(ascii: "="))
        text += signer.encodedAccessKeyID
        text.append(UInt8(ascii: "&"))
        text += dialect.parameters.expires.utf8
        text.append(UInt8(ascii: "="))
        text += expires.utf8
        return text
    }
}
