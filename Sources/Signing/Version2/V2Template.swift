import LibCrypto

/// What is the same in all URLs of a key that allow a method on a bucket, bind headers of the same names and have the same query:
/// everything but the object's key, the end of the life and the values of the headers.
///
/// To prepare it costs more than to sign several times, so that a key keeps the latest ones.
final class V2Template: Sendable {
    /// A header of the vendor as it is signed: the name up to the value, and where in the request that is, or the value itself.
    private struct Line: Sendable {
        let text: [UInt8]
        let source: Int?
    }

    private let dialect: V2Dialect
    private let shape: RequestShape
    /// The places of type and MD5 in the request, if it has them.
    private let typeSource: Int?
    private let md5Source: Int?
    private let lines: [Line]
    /// What stands behind the path in the URL: up to the headers that it shows, and from there up to the end of its life.
    private let queryStart: [UInt8]
    private let queryEnd: [UInt8]
    /// What stands before the signature.
    private let signatureParameter: [UInt8]
    /// What is signed before and behind the path.
    private let pathStart: [UInt8]
    private let subResources: [UInt8]
    /// Room for all of that.
    private let byteCount: Int

    /// Prepares for requests with method, address, names of headers and query of one.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - dialect: The scheme's words.
    ///   - encodedAccessKeyID: Access key id of the key that signs, percent-encoded.
    ///   - securityToken: Token of that key.
    /// - Throws: ``SigningError`` for what the scheme cannot express, or would sign like something else.
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
        // A token in a header travels as a parameter.
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
        byteCount =
            2 * address.front.sent.count + queryStart.count + queryEnd.count + signatureParameter.count
            + request.method.utf8.count + pathStart.count + subResources.count + 2 * OutputSpan<UInt8>.decimalRoom
            + lines.reduce(0) { $0 + $1.text.count + 1 } + Self.shownNames + 4
    }

    /// Room for `content-type=&content-md5=&`.
    private static let shownNames = 27

    /// Whether a request without a query can be signed with this template.
    func fits(_ request: borrowing PresignRequest, dialect: V2Dialect) -> Bool {
        self.dialect === dialect && shape.matches(request)
    }

    /// Room that a URL takes while it is made, signature apart.
    ///
    /// - Parameters:
    ///   - request: What is signed.
    ///   - path: Its path, where that is not written as the key is.
    func byteCount(of request: borrowing PresignRequest, path: [UInt8]?) -> Int {
        let headers = request.headers.span
        var values = 0
        for place in headers.indices { values += headers[place].value.utf8.count }
        // Values are signed and, encoded, may be shown.
        return byteCount + 2 * (path?.count ?? 3 * request.key.utf8.count) + request.key.utf8.count + 4 * values
    }

    /// Appends the URL up to the signature.
    ///
    /// - Returns: Where the path is.
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
    /// - Returns: The place of a header whose value cannot be sent.
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
