import LibCrypto

extension AWSV4 {
    /// Refuses what the stages could not express.
    static func check(_ request: PresignRequest) throws(SigningError) {
        guard !request.method.isEmpty, request.method.utf8.allSatisfy({ (0x41...0x5A).contains($0) }) else {
            throw .invalidMethod(request.method)
        }
        guard V4Dialect.expiryRange.contains(request.expiresInSeconds) else {
            throw .expiryOutOfRange(seconds: request.expiresInSeconds, allowed: V4Dialect.expiryRange)
        }
        for parameter in request.query where dialect.parameters.contain(parameter.name) {
            throw .reservedQueryParameter(parameter.name)
        }
    }

    /// The headers that a request binds, `host` among them.
    static func canonicalHeaders(of request: PresignRequest) throws(SigningError) -> CanonicalHeaders {
        var headers: [(name: [UInt8], value: String)] = []
        headers.reserveCapacity(request.headers.count + 1)
        for header in request.headers {
            let name = try CanonicalHeaders.lowerCased(header.name)
            guard !header.value.utf8.contains(where: { $0 == 0x0A || $0 == 0x0D || $0 == 0 }) else {
                throw .invalidHeaderValue(name: header.name)
            }
            guard name != hostName else { throw .reservedHeader(header.name) }
            guard !headers.contains(where: { $0.name == name }) else { throw .duplicateHeader(header.name) }
            headers.append((name, header.value))
        }
        headers.append((hostName, request.address.authority))
        return CanonicalHeaders(headers, dialect: dialect)
    }

    /// First stage: the request as one text.
    static func canonicalRequest(
        _ request: PresignRequest, headers: CanonicalHeaders, key: SigningKeyV4, instant: SigningInstant
    ) -> V4CanonicalRequest {
        V4CanonicalRequest(
            method: request.method,
            appendPath: { buffer in
                buffer += request.address.path.utf8
                buffer.append(UInt8(ascii: "/"))
                PercentEncoding.append(request.key, keeping: PercentEncoding.unreservedAndSlash, to: &buffer)
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
        var query = CanonicalQuery()
        let names = dialect.parameters
        query.add(unreserved: names.algorithm) { $0 += dialect.algorithm.utf8 }
        query.add(unreserved: names.credential) { $0 += key.encodedCredential }
        query.add(unreserved: names.date) { instant.appendBasic(to: &$0) }
        query.add(unreserved: names.expires) { $0 += String(request.expiresInSeconds).utf8 }
        if let token = key.encodedSecurityToken {
            query.add(unreserved: names.securityToken) { $0 += token }
        }
        query.add(unreserved: names.signedHeaders) {
            PercentEncoding.append(headers.names.span, keeping: PercentEncoding.unreserved, to: &$0)
        }
        for parameter in request.query { query.add(parameter.name, parameter.value) }
        return query
    }

    /// Second stage: algorithm, time, scope and hash of the canonical request.
    static func stringToSign(_ canonicalRequest: [UInt8], scope: String, instant: SigningInstant) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(192)
        let newline = UInt8(ascii: "\n")
        text += dialect.algorithm.utf8
        text.append(newline)
        instant.appendBasic(to: &text)
        text.append(newline)
        text += scope.utf8
        text.append(newline)
        DigestAlgorithm.sha256.digest(of: canonicalRequest).appendHex(to: &text)
        return text
    }

    /// The path as the URL shall show it.
    static func urlPath(
        of request: PresignRequest, canonicalPath: ArraySlice<UInt8>
    ) throws(SigningError) -> [UInt8] {
        switch request.pathForm {
        case .slashKept:
            return Array(canonicalPath)
        case .slashEscaped:
            var path = Array("\(request.address.path)/".utf8)
            PercentEncoding.append(request.key, keeping: PercentEncoding.unreserved, to: &path)
            return path
        case .asSent(let path):
            let bytes = Array(path.utf8)
            guard bytes.allSatisfy(pathCharacters.contains),
                let decoded = PercentEncoding.decode(bytes, plusIsSpace: false),
                decoded == PercentEncoding.decode(canonicalPath, plusIsSpace: false)
            else { throw .pathNamesAnotherObject(path) }
            return bytes
        }
    }

    /// Last stage: origin, path, query and signature.
    static func url(
        _ origin: String, path: [UInt8], query: ArraySlice<UInt8>, signature: Digest
    ) -> [UInt8] {
        var url: [UInt8] = []
        url.reserveCapacity(origin.utf8.count + path.count + query.count + 128)
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

    static let hostName = Array("host".utf8)

    /// What RFC 3986, section 3.3, allows in a path.
    private static let pathCharacters = PercentEncoding.ByteSet(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!$&'()*+,;=:@/%"
    )
}
