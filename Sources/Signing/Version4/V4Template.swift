import Bytes

/// The constant parts of all URLs of a key that are made in one second, for one method, one bucket and the same header
/// names: everything but the object's key, the life and the values of the headers.
///
/// Preparing a template costs more than signing several times: with a kept template a URL takes 0.6 µs, without one
/// 2.7 µs (`aws-v4-query/url` of the microbenchmarks). ``V4Presigner`` therefore keeps the latest templates and moves
/// them on to each new second.
final class V4Template: Sendable {
    /// The second that the template is for.
    let instant: SigningInstant
    let key: SigningKeyV4
    let text: V4TemplateText
    /// Signs the hash of a canonical request, which ends the string to sign.
    let signer: V4Signer
    private let shape: RequestShape
    /// The index of `host` among the request's headers, if it is given.
    private let hostSource: Int?
    /// The index of the header whose value represents the body, if it is bound.
    private let payloadSource: Int?
    private let collapsesWhiteSpace: Bool

    /// Prepares a template for requests with the method, address, header names and query of this one.
    ///
    /// - Throws: ``SigningError`` for an invalid method, and for parameters and header names that cannot be bound.
    init(_ request: PresignRequest, key: SigningKeyV4, at instant: SigningInstant) throws(SigningError) {
        self.instant = instant
        self.key = key
        let dialect = key.dialect
        try V4Stages.check(method: request.method, query: request.query, dialect: dialect)
        shape = RequestShape(request)
        let names = try BoundHeaders.names(of: request.headers, vendor: dialect.vendor)
        hostSource = names.firstIndex(of: BoundHeaders.host)
        payloadSource = names.firstIndex(of: dialect.headerForm.payloadHeader)
        collapsesWhiteSpace = dialect.headerForm.collapsesWhiteSpace

        var bound = names.enumerated().map { (name: $1, source: Optional($0)) }
        if dialect.bindsHost, hostSource == nil { bound.append((BoundHeaders.host, nil)) }
        bound.sort { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
        let listed = bound.map(\.name).filter(dialect.headerForm.lists).joined(separator: ";")
        var text = V4TemplateText(request, dialect: dialect)
        text.addQuery(
            CanonicalQuery(request.query, writesBareNames: dialect.writesBareNames), key: key, names: listed)
        for (name, source) in bound {
            if let source, source != hostSource {
                text.addHeader(name, source: source)
            } else {
                text.addHeader(name, value: request.address.authority)
            }
        }
        text.addEnds(names: listed, payload: payloadSource == nil ? PayloadHash.unsigned.text : "", key: key)
        text.setTime(instant)
        self.text = text
        signer = key.signer.beginning(with: text.stringToSign)
    }

    /// Copies a template for another second of its day.
    init(_ template: V4Template, at instant: SigningInstant) {
        self.instant = instant
        key = template.key
        var text = template.text
        text.setTime(instant)
        self.text = text
        signer = key.signer.beginning(with: text.stringToSign)
        shape = template.shape
        hostSource = template.hostSource
        payloadSource = template.payloadSource
        collapsesWhiteSpace = template.collapsesWhiteSpace
    }

    /// Whether a request without a query can be signed with this template.
    func fits(_ request: borrowing PresignRequest) -> Bool { shape.matches(request) }

    /// Refuses a `host` that is not the host of the address.
    func checkHost(of request: borrowing PresignRequest) throws(SigningError) {
        guard let hostSource, !request.headers[hostSource].value.isSameBytes(as: shape.address.authority) else {
            return
        }
        throw .reservedHeader(request.headers[hostSource].name)
    }

    /// Bytes that a URL needs while it is made, including the signature.
    func byteCount(of request: borrowing PresignRequest) -> Int {
        let headers = request.headers.span
        let payload = payloadSource.map { headers[$0].value.utf8.count } ?? 0
        return text.upToQueryByteCount + 3 * request.key.utf8.count
            + max(
                text.headersByteCount + text.valueByteCount(in: headers) + payload, Self.hashByteCount,
                text.signatureParameterByteCount + signer.hexByteCount)
    }

    private static let hashByteCount = 64

    /// Appends the part of the canonical request after its query.
    ///
    /// - Returns: The index of a header whose value cannot be sent, if there is one.
    func appendHeaders(of request: borrowing PresignRequest, to output: inout OutputSpan<UInt8>) -> Int? {
        let headers = request.headers.span
        if let place = text.appendHeaders(headers, collapsing: collapsesWhiteSpace, to: &output) { return place }
        if let payloadSource {
            HeaderValue.append(headers[payloadSource].value, collapsing: collapsesWhiteSpace, to: &output)
        }
        return nil
    }
}
