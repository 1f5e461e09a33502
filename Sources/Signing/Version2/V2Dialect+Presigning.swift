import Bytes

extension V2Dialect {
    /// Refuses headers and parameters that the signer writes itself.
    func checkOwn(_ request: PresignRequest) throws(SigningError) {
        for header in request.headers {
            let name = header.name.lowercased()
            guard name != dateHeader, name != tokenHeader else { throw .reservedHeader(header.name) }
        }
        for parameter in request.query {
            var isReserved = parameters.contain(parameter.name)
            if case .subResource(let name) = tokenForm { isReserved = isReserved || parameter.name == name }
            // Stores also read the vendor's headers from the query.
            if case .header = tokenForm {
                isReserved = isReserved || parameter.name.lowercased().utf8.starts(with: headerPrefix.utf8)
            }
            if showsContentHeaders {
                isReserved = isReserved || ["content-type", "content-md5"].contains(parameter.name.lowercased())
            }
            guard !isReserved else { throw .reservedQueryParameter(parameter.name) }
        }
    }

    /// The path of a URL, unless it equals the plain key.
    ///
    /// - Throws: ``SigningError/pathNamesAnotherObject(_:)``, or ``SigningError/ambiguousKey(_:)``.
    func path(of request: borrowing PresignRequest) throws(SigningError) -> [UInt8]? {
        // A plain key is not ambiguous.
        if request.pathForm.isKey, request.key.utf8Span.span.isPlainPath { return nil }
        return try V2Resource(address: request.address, key: request.key, pathForm: request.pathForm).urlPath(self)
    }

    /// The text after the path in a URL: the parameters that the signer does not write itself.
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
