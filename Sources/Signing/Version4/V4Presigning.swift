import LibCrypto

/// A "version 4" signature in the query.
///
/// One buffer holds everything in turn: the canonical request; behind its query, once it is hashed, the string to sign; and in
/// the end the URL, which has key and query in common with the canonical request.
enum V4Presigning {
    /// What the stages say, for those who want to see it.
    final class Record {
        fileprivate(set) var canonicalRequest = ""
        fileprivate(set) var stringToSign = ""
        fileprivate(set) var signature = ""
    }

    /// Signs a request with a key of one of the vendor's schemes.
    ///
    /// - Throws: ``SigningError`` for a request that the scheme cannot express.
    static func url(
        for request: PresignRequest, vendor: V4Dialect.Vendor, key: SigningKeyV4, instant: SigningInstant,
        record: Record? = nil
    ) throws(SigningError) -> String {
        try key.check(vendor: vendor, at: instant)
        try V4Stages.check(method: request.method, query: request.query, dialect: key.dialect)
        guard V4Dialect.expiryRange.contains(request.expiresInSeconds) else {
            throw .expiryOutOfRange(seconds: request.expiresInSeconds, allowed: V4Dialect.expiryRange)
        }
        let template = try key.template(for: request)
        try template.checkHost(of: request)
        let front = Front(request, dialect: key.dialect)
        let behindQuery = max(key.stringToSignByteCount, key.signatureParameter.count + key.signatureHexByteCount)
        let room = front.byteCount + 3 * request.key.utf8.count + 1 + template.byteCount(of: request) + behindQuery
        let url = try String(room: room) { output throws(SigningError) in
            try write(
                request, template: template, key: key, instant: instant, front: front, record: record, to: &output)
        }
        return try Self.url(url, for: request)
    }

    /// Signs a request with a key of one of the vendor's schemes, and shows each stage.
    ///
    /// - Throws: ``SigningError`` for a request that the scheme cannot express.
    static func presignedURL(
        for request: PresignRequest, vendor: V4Dialect.Vendor, key: SigningKeyV4, instant: SigningInstant
    ) throws(SigningError) -> PresignedURL {
        let record = Record()
        let url = try url(for: request, vendor: vendor, key: key, instant: instant, record: record)
        let target = url.utf8.dropFirst(request.address.origin.utf8.count)
        let path = target.prefix { $0 != UInt8(ascii: "?") }
        let headers = zip(try BoundHeaders.names(of: request.headers, vendor: vendor), request.headers)
        return PresignedURL(
            url: url,
            path: String(Substring(path)),
            query: ReceivedQuery.pairs(in: Array(target.dropFirst(path.count + 1))[...]) ?? [],
            canonicalRequest: record.canonicalRequest,
            stringToSign: record.stringToSign,
            signature: record.signature,
            requiredHeaders: headers.filter { $0.0 != BoundHeaders.host }.map { NamedValue($0, $1.value) }
        )
    }

    private static func write(
        _ request: PresignRequest, template: V4Template, key: SigningKeyV4, instant: SigningInstant, front: Front,
        record: Record?, to output: inout OutputSpan<UInt8>
    ) throws(SigningError) {
        // First stage: the request as one text.
        output.append(repeating: 0, count: front.signedStart)
        output.append(copying: request.method)
        output.append(UInt8(ascii: "\n"))
        output.append(copying: key.dialect.signedFront(of: request.address))
        PercentEncoding.append(request.key, keeping: PercentEncoding.unreservedAndSlash, to: &output)
        let keyEnd = output.count
        output.append(UInt8(ascii: "\n"))
        template.appendQuery(expiresInSeconds: request.expiresInSeconds, at: instant, to: &output)
        let queryEnd = output.count
        try template.appendHeaders(of: request, to: &output)
        let digest = DigestAlgorithm.sha256.digest(of: output.span.extracting(front.signedStart..<output.count))
        record?.canonicalRequest = output.text(from: front.signedStart)
        output.removeLast(output.count - queryEnd)
        // Second stage: algorithm, time, scope, and hash of the first.
        key.appendStringToSign(digest, at: instant, to: &output)
        let signature = try key.signature(of: output.span.extracting(queryEnd..<output.count))
        record?.stringToSign = output.text(from: queryEnd)
        record?.signature = signature.hex
        output.removeLast(output.count - queryEnd)
        // Last stage: the URL.
        output.overwrite(from: front.sentStart, with: request.address.front.sent)
        output[keyEnd] = UInt8(ascii: "?")
        output.append(copying: key.signatureParameter)
        signature.appendHex(to: &output)
        if front.sentStart > 0 { output.removeFirst(front.sentStart) }
    }

    /// The URL, the path of which may be wanted in another form than the signed one.
    private static func url(_ url: String, for request: PresignRequest) throws(SigningError) -> String {
        let path: [UInt8]
        switch request.pathForm {
        case .slashKept:
            return url
        case .slashEscaped:
            path = V4Stages.path(of: request.address, key: request.key, keeping: PercentEncoding.unreserved)
        case .asSent(let sent):
            path = Array(sent.utf8)
            let object = V4Stages.path(
                of: request.address, key: request.key, keeping: PercentEncoding.unreservedAndSlash)
            guard path.allSatisfy(PercentEncoding.pathCharacters.contains),
                let decoded = PercentEncoding.decode(path, plusIsSpace: false),
                decoded == PercentEncoding.decode(object, plusIsSpace: false)
            else { throw .pathNamesAnotherObject(sent) }
        }
        let query = url.utf8.drop { $0 != UInt8(ascii: "?") }
        return request.address.origin + String(decoding: path, as: UTF8.self) + String(Substring(query))
    }

    /// What stands in front of the key: method, and path of the bucket as it is signed, or origin and path as it is sent. Both end
    /// where the key begins.
    private struct Front {
        let byteCount: Int
        let signedStart: Int
        let sentStart: Int

        init(_ request: PresignRequest, dialect: V4Dialect) {
            let signed = request.method.utf8.count + 1 + dialect.signedFront(of: request.address).count
            let sent = request.address.front.sent.count
            byteCount = max(signed, sent)
            signedStart = byteCount - signed
            sentStart = byteCount - sent
        }
    }
}

extension OutputSpan where Element == UInt8 {
    /// What was appended from a place on, as a text.
    fileprivate func text(from start: Int) -> String {
        let bytes = span.extracting(start..<count)
        return String(room: bytes.count) { $0.append(copying: bytes) }
    }
}
