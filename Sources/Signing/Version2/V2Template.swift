import Bytes

/// The constant parts of all URLs of a key for one method, one bucket, the same header names and the same query:
/// everything but the object's key, the expiry and the values of the headers.
///
/// Preparing a template costs more than signing several times: with a kept template a URL takes 0.5 µs, without one
/// 1.9 µs (`aws-v2-query/url` of the microbenchmarks). ``SigningKeyV2`` therefore keeps the latest ones.
final class V2Template: Sendable {
    /// A signed header of the vendor: the text up to the value, and the value's index in the request or, for a constant
    /// value, the value itself.
    private struct Line: Sendable {
        let text: [UInt8]
        let source: Int?
    }

    private let dialect: V2Dialect
    private let shape: RequestShape
    /// The indices of the type and the MD5 among the request's headers, if they are given.
    private let typeSource: Int?
    private let md5Source: Int?
    private let lines: [Line]
    /// The text after the path in the URL: up to the headers that the query repeats, and from there up to the expiry.
    private let queryStart: [UInt8]
    private let queryEnd: [UInt8]
    /// The text before the signature.
    private let signatureParameter: [UInt8]
    /// The signed text before and after the path.
    private let pathStart: [UInt8]
    private let subResources: [UInt8]
    /// Bytes of all of these texts.
    private let byteCount: Int

    /// Prepares a template for requests with the method, address, header names and query of this one.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - dialect: The scheme's names and rules.
    ///   - encodedAccessKeyID: Access key id of the key that signs, percent-encoded.
    ///   - securityToken: Token of that key.
    /// - Throws: ``SigningError`` for a request that the scheme cannot express, or that it would sign like another one.
    init(
        _ request: PresignRequest, dialect: V2Dialect, encodedAccessKeyID: [UInt8], securityToken: String?
    ) throws(SigningError) {
        try RequestMethod.check(request.method)
        try dialect.checkOwn(request)
        self.dialect = dialect
        shape = RequestShape(request)
        var (headers, query) = (request.headers, request.query)
        switch (dialect.tokenForm, securityToken) {
        case (_, nil): break
        case (.unsupported, _?): throw .invalidCredential("the scheme has no place for a security token")
        case (.subResource(let name), let token?): query.append(NamedValue(name, token))
        case (.header(let name), let token?): headers.append(NamedValue(name, token))
        }
        let bound = try V2BoundParts(headers: headers, query: query, dialect: dialect)
        if let name = bound.unboundHeaders.first { throw .headerNotBindable(name) }
        // In a URL, a token that belongs into a header is sent as a parameter.
        for header in headers.dropFirst(request.headers.count) { query.append(header) }
        let names = request.headers.map { Array($0.name.lowercased().utf8) }
        typeSource = names.firstIndex(of: Array("content-type".utf8))
        md5Source = names.firstIndex(of: Array("content-md5".utf8))
        lines = bound.vendorHeaders.map { header in
            let source = names.firstIndex(of: header.name)
            return Line(text: header.name + ":".utf8 + (source == nil ? header.value : []), source: source)
        }
        queryStart = dialect.queryStart(query, bound: bound)
        let own = dialect.parameters
        queryEnd = Array("\(own.accessKeyID)=".utf8) + encodedAccessKeyID + "&\(own.expires)=".utf8
        signatureParameter = Array("&\(own.signature)=".utf8)
        var resources: [UInt8] = []
        bound.appendSubResources(to: &resources)
        subResources = resources
        let address = request.address
        pathStart =
            switch dialect.resourceForm {
            case _ where address.bucket.isEmpty: []
            case .raw: Array("/\(address.bucket)/".utf8)
            case .pathAsSent, .form: address.isPathStyle ? [] : Array(address.namingPath.utf8)
            }
        let lineByteCount = lines.reduce(0) { $0 + $1.text.count + 1 }
        let addressByteCount = 2 * address.front.sent.count + pathStart.count + subResources.count
        let queryByteCount = queryStart.count + queryEnd.count + signatureParameter.count + Self.shownNames
        let numberRoom = 2 * OutputSpan<UInt8>.decimalRoom
        byteCount =
            addressByteCount + queryByteCount + lineByteCount + request.method.utf8.count + numberRoom + 4
    }

    /// Room for `content-type=&content-md5=&`.
    private static let shownNames = 27

    /// Whether a request without a query can be signed with this template.
    func fits(_ request: borrowing PresignRequest, dialect: V2Dialect) -> Bool {
        guard self.dialect === dialect else { return false }
        return shape.matches(request)
    }

    /// Bytes that a URL needs while it is made, without the signature.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - path: Its path, unless it equals the plain key.
    func byteCount(of request: borrowing PresignRequest, path: [UInt8]?) -> Int {
        let headers = request.headers.span
        var values = 0
        for place in headers.indices { values += headers[place].value.utf8.count }
        // Values are signed, and may also be encoded into the query.
        return byteCount + 2 * (path?.count ?? 3 * request.key.utf8.count) + request.key.utf8.count + 4 * values
    }

    /// Appends the URL up to the signature.
    ///
    /// - Returns: The range of the path.
    func appendURL(
        of request: borrowing PresignRequest, path: [UInt8]?, expires: Int64, to output: inout OutputSpan<UInt8>
    ) -> Range<Int> {
        if let path {
            output.append(copying: shape.address.origin)
            output.append(copying: path)
        } else {
            output.append(copying: shape.address.front.sent)
            PercentEncoding.appendPath(request.key, to: &output)
        }
        let path = shape.address.origin.utf8.count..<output.count
        output.append(copying: queryStart)
        if dialect.showsContentHeaders {
            let headers = request.headers.span
            if let typeSource { PercentEncoding.append(header: "content-type", headers[typeSource].value, to: &output) }
            if let md5Source { PercentEncoding.append(header: "content-md5", headers[md5Source].value, to: &output) }
        }
        output.append(copying: queryEnd)
        output.append(decimal: expires)
        output.append(copying: signatureParameter)
        return path
    }

    /// Appends the string to sign to a URL.
    ///
    /// - Returns: The index of a header whose value cannot be sent, if there is one.
    func appendStringToSign(
        of request: borrowing PresignRequest, path: Range<Int>, expires: Int64, to output: inout OutputSpan<UInt8>
    ) -> Int? {
        let headers = request.headers.span
        let newline = UInt8(ascii: "\n")
        output.append(copying: shape.method)
        output.append(newline)
        if let md5Source {
            guard HeaderValue.append(headers[md5Source].value, collapsing: false, to: &output) else { return md5Source }
        }
        output.append(newline)
        if let typeSource {
            guard HeaderValue.append(headers[typeSource].value, collapsing: false, to: &output) else {
                return typeSource
            }
        }
        output.append(newline)
        output.append(decimal: expires)
        output.append(newline)
        for line in lines {
            output.append(copying: line.text)
            if let source = line.source {
                let value = headers[source].value
                guard HeaderValue.append(value, collapsing: dialect.collapsesWhiteSpace, to: &output) else {
                    return source
                }
            }
            output.append(newline)
        }
        output.append(copying: pathStart)
        if case .raw = dialect.resourceForm, !pathStart.isEmpty {
            output.append(copying: request.key.utf8Span.span)
        } else {
            output.append(copyingFrom: path)
        }
        output.append(copying: subResources)
        return nil
    }
}
