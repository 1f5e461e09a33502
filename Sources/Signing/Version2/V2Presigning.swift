import Bytes

/// A "version 2" signature in the query.
///
/// One buffer holds the URL up to the signature, followed by the string to sign.
enum V2Presigning {
    /// The stages of a signature, recorded on request.
    final class Record {
        fileprivate(set) var stringToSign = ""
        fileprivate(set) var signature = ""
    }

    /// Why a URL cannot be made. It is returned, because a throwing function costs more even if it does not throw.
    private enum Flaw {
        /// The value of the header at this index cannot be sent.
        case header(Int)
        /// The private key cannot sign.
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
        record?.signature = signature.base64
        output.removeLast(output.count - urlEnd)
        signature.appendBase64(to: &output)
        // Base64 contains '+', which a store would read as a space.
        PercentEncoding.encode(from: urlEnd, keeping: .unreserved, in: &output)
        return nil
    }
}
