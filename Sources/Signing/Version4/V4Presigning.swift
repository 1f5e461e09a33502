import Bytes
import LibCrypto

/// A "version 4" signature in the query.
///
/// One buffer holds each stage in turn. At first it holds the canonical request. Once that is hashed, the hash, which
/// ends the string to sign, replaces everything after the query. At last it holds the URL, which shares key and query
/// with the canonical request.
enum V4Presigning {
    /// The stages of a signature, recorded on request.
    final class Record {
        fileprivate(set) var canonicalRequest = ""
        fileprivate(set) var stringToSign = ""
        fileprivate(set) var signature = ""
    }

    /// Signs a request with its template.
    ///
    /// - Throws: ``SigningError`` for a request that the scheme cannot express.
    static func url(
        for request: borrowing PresignRequest, template: V4Template, record: Record? = nil
    ) throws(SigningError) -> String {
        guard V4Dialect.expiryRange.contains(request.expiresInSeconds) else {
            throw .expiryOutOfRange(seconds: request.expiresInSeconds, allowed: V4Dialect.expiryRange)
        }
        try template.checkHost(of: request)
        let room = template.byteCount(of: request)
        var flaw: Flaw?
        let url = String(room: room) { output in
            flaw = write(request, template: template, record: record, to: &output)
        }
        switch flaw {
        case nil: return request.pathForm.isKey ? url : try Self.url(url, for: request)
        case .header(let place): throw .invalidHeaderValue(name: request.headers[place].name)
        case .privateKey: throw .invalidPrivateKey("its numbers do not fit together")
        }
    }

    /// Signs a request with a key of one of the vendor's schemes, and shows each stage.
    ///
    /// - Throws: ``SigningError`` for a request that the scheme cannot express.
    static func presignedURL(
        for request: PresignRequest, vendor: StoreVendor, key: SigningKeyV4, instant: SigningInstant
    ) throws(SigningError) -> PresignedURL {
        try key.check(vendor: vendor, at: instant)
        let record = Record()
        let template = try V4Template(request, key: key, at: instant)
        let url = try url(for: request, template: template, record: record)
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

    /// Why a URL cannot be made. It is returned, because a throwing function costs more even if it does not throw.
    private enum Flaw {
        /// The value of the header at this index cannot be sent.
        case header(Int)
        /// The private key cannot sign.
        case privateKey
    }

    private static func write(
        _ request: borrowing PresignRequest, template: V4Template, record: Record?, to output: inout OutputSpan<UInt8>
    ) -> Flaw? {
        // First stage: the canonical request.
        template.text.appendSignedFront(to: &output)
        PercentEncoding.appendPath(request.key, to: &output)
        let keyEnd = output.count
        template.text.appendQuery(expiresInSeconds: request.expiresInSeconds, to: &output)
        let queryEnd = output.count
        if let place = template.appendHeaders(of: request, to: &output) { return .header(place) }
        let signedStart = template.text.signedStart
        var digest = Digest()
        DigestAlgorithm.sha256.hash(output.span.extracting(signedStart..<output.count), into: &digest)
        record?.canonicalRequest = output.text(from: signedStart)
        output.removeLast(output.count - queryEnd)
        // Second stage: the string to sign. The signer has already hashed algorithm, time and scope; the hash of the
        // first stage follows.
        digest.appendHex(to: &output)
        record?.stringToSign = String(decoding: template.text.stringToSign, as: UTF8.self) + output.text(from: queryEnd)
        // Last stage: the URL.
        switch template.signer {
        case .hmac(let key):
            key.authenticate(output.span.extracting(queryEnd..<output.count), into: &digest)
            output.removeLast(output.count - queryEnd)
            template.text.appendSignatureParameter(to: &output)
            digest.appendHex(to: &output)
        case .rsa:
            guard
                case .rsa(let signature) = try? template.signer.signature(
                    of: output.span.extracting(queryEnd..<output.count))
            else { return .privateKey }
            output.removeLast(output.count - queryEnd)
            template.text.appendSignatureParameter(to: &output)
            Hex.append(signature.span, to: &output)
        }
        record?.signature = output.text(from: queryEnd + template.text.signatureParameterByteCount)
        template.text.overwriteFront(of: &output)
        output[keyEnd] = UInt8(ascii: "?")
        let sentStart = template.text.sentStart
        if sentStart > 0 { output.removeFirst(sentStart) }
        return nil
    }

    /// The URL with the path in the form that the request asks for.
    private static func url(_ url: String, for request: borrowing PresignRequest) throws(SigningError) -> String {
        let path: [UInt8]
        switch request.pathForm {
        case .slashKept:
            return url
        case .slashEscaped:
            path = V4Stages.path(of: request.address, key: request.key, keeping: .unreserved)
        case .asSent(let sent):
            path = Array(sent.utf8)
            let object = V4Stages.path(
                of: request.address, key: request.key, keeping: .unreservedAndSlash)
            guard path.allSatisfy(ByteSet.path.contains),
                let decoded = PercentEncoding.decode(path, plusIsSpace: false),
                decoded == PercentEncoding.decode(object, plusIsSpace: false)
            else { throw .pathNamesAnotherObject(sent) }
        }
        let query = url.utf8.drop { $0 != UInt8(ascii: "?") }
        return request.address.origin + String(decoding: path, as: UTF8.self) + String(Substring(query))
    }
}
