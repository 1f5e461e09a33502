import LibCrypto

/// A "version 2" signature in the query.
///
/// One buffer holds the URL up to the signature, and behind it the string to sign.
enum V2Presigning {
    /// What the stages say, for those who want to see it.
    final class Record {
        fileprivate(set) var stringToSign = ""
        fileprivate(set) var signature = ""
    }

    /// Why a URL cannot be made, found on the way; an error costs more to pass on, even where there is none.
    private enum Flaw {
        /// The value of the header at this place cannot be sent.
        case header(Int)
        /// The key does not sign.
        case privateKey
    }

    /// Signs a request.
    ///
    /// - Throws: ``SigningError`` for a request that the scheme cannot express, or that it would sign like another one.
    static func url(
        for request: borrowing PresignRequest, dialect: V2Dialect, key: SigningKeyV2, instant: SigningInstant,
        record: Record? = nil
    ) throws(SigningError) -> String {
        guard key.usesPrivateKey == dialect.usesPrivateKey else { throw .keyOfAnotherScheme }
        guard V2Dialect.expiryRange.contains(request.expiresInSeconds),
            let end = instant.advanced(bySeconds: request.expiresInSeconds)
        else { throw .expiryOutOfRange(seconds: request.expiresInSeconds, allowed: V2Dialect.expiryRange) }
        let template = try key.template(for: request, dialect: dialect)
        let path = try dialect.path(of: request)
        var flaw: Flaw?
        let room = template.byteCount(of: request, path: path) + 3 * key.signatureByteCount
        let url = String(room: room) { output in
            flaw = write(
                request, path: path, expires: end.epochSeconds, template: template, key: key, record: record,
                to: &output)
        }
        switch flaw {
        case nil: return url
        case .header(let place): throw .invalidHeaderValue(name: request.headers[place].name)
        case .privateKey: throw .invalidPrivateKey("its numbers do not fit together")
        }
    }

    /// Signs a request, and shows each stage.
    ///
    /// - Throws: ``SigningError`` for a request that the scheme cannot express, or that it would sign like another one.
    static func presignedURL(
        for request: PresignRequest, dialect: V2Dialect, key: SigningKeyV2, instant: SigningInstant
    ) throws(SigningError) -> PresignedURL {
        let record = Record()
        let url = try url(for: request, dialect: dialect, key: key, instant: instant, record: record)
        let target = url.utf8.dropFirst(request.address.origin.utf8.count)
        let path = target.prefix { $0 != UInt8(ascii: "?") }
        return PresignedURL(
            url: url,
            path: String(Substring(path)),
            query: ReceivedQuery.pairs(in: Array(target.dropFirst(path.count + 1))[...]) ?? [],
            canonicalRequest: "",
            stringToSign: record.stringToSign,
            signature: record.signature,
            requiredHeaders: request.headers.map { NamedValue($0.name.lowercased(), $0.value) }
        )
    }

    private static func write(
        _ request: borrowing PresignRequest, path: [UInt8]?, expires: Int64, template: V2Template, key: SigningKeyV2,
        record: Record?, to output: inout OutputSpan<UInt8>
    ) -> Flaw? {
        let path = template.appendURL(of: request, path: path, expires: expires, to: &output)
        let urlEnd = output.count
        if let place = template.appendStringToSign(of: request, path: path, expires: expires, to: &output) {
            return .header(place)
        }
        record?.stringToSign = output.text(from: urlEnd)
        guard let signature = try? key.signature(of: output.span.extracting(urlEnd..<output.count)) else {
            return .privateKey
        }
        record?.signature = signature
        output.removeLast(output.count - urlEnd)
        // Base64 holds '+', which a store would read as a space.
        PercentEncoding.append(signature, keeping: PercentEncoding.unreserved, to: &output)
        return nil
    }
}

extension V2Dialect {
    /// Refuses headers and parameters that are the signer's own to write.
    func checkOwn(_ request: PresignRequest) throws(SigningError) {
        for header in request.headers {
            let name = header.name.lowercased()
            guard name != dateHeader, name != tokenHeader else { throw .reservedHeader(header.name) }
        }
        for parameter in request.query {
            var isReserved = parameters.contain(parameter.name)
            if case .subResource(let name) = tokenForm { isReserved = isReserved || parameter.name == name }
            // Stores take the vendor's headers out of the query as well.
            if case .header = tokenForm {
                isReserved = isReserved || parameter.name.lowercased().utf8.starts(with: headerPrefix.utf8)
            }
            if showsContentHeaders {
                isReserved = isReserved || ["content-type", "content-md5"].contains(parameter.name.lowercased())
            }
            guard !isReserved else { throw .reservedQueryParameter(parameter.name) }
        }
    }

    /// The path of a URL where that is not written as the key is.
    ///
    /// - Throws: ``SigningError/pathNamesAnotherObject(_:)``, or ``SigningError/ambiguousKey(_:)``.
    func path(of request: borrowing PresignRequest) throws(SigningError) -> [UInt8]? {
        // A plain key is not ambiguous.
        if request.pathForm.isKey, request.key.utf8Span.span.isPlainPath { return nil }
        return try V2Resource(address: request.address, key: request.key, pathForm: request.pathForm).urlPath(self)
    }

    /// What stands behind the path in a URL: the parameters that are not the signer's own.
    func queryStart(_ parameters: [NamedValue], bound: V2BoundParts) -> [UInt8] {
        var text: [UInt8] = []
        if case .form = resourceForm {
            bound.appendSubResources(to: &text)
            if !text.isEmpty {
                text.removeFirst()
                text.append(UInt8(ascii: "&"))
            }
        }
        for parameter in parameters {
            if case .form = resourceForm, subResources.contain(parameter.name) { continue }
            PercentEncoding.append(parameter, to: &text)
            text.append(UInt8(ascii: "&"))
        }
        return "?".utf8 + text
    }
}

extension PercentEncoding {
    /// Appends a header as a parameter and `&`, for which there must be room, unless its value is empty.
    static func append(header name: String, _ value: String, to output: inout OutputSpan<UInt8>) {
        let bytes = value.utf8Span.span
        if bytes.isAbove(UInt8(ascii: " ")) {
            append(header: name, bytes, to: &output)
        } else {
            append(header: name, HeaderValue.canonical(value, collapsing: false).span, to: &output)
        }
    }

    private static func append(header name: String, _ value: Span<UInt8>, to output: inout OutputSpan<UInt8>) {
        guard !value.isEmpty else { return }
        output.append(copying: name)
        output.append(UInt8(ascii: "="))
        append(value, keeping: unreserved, to: &output)
        output.append(UInt8(ascii: "&"))
    }
}
