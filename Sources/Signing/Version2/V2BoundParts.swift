import Bytes

/// The parts of a request that a "version 2" signature binds besides method, date and path.
struct V2BoundParts {
    /// Value of `Content-MD5`, empty when it is not sent.
    private(set) var contentMD5: [UInt8] = []
    /// Value of `Content-Type`, empty when it is not sent. The signature is then valid only for a request without a
    /// type.
    private(set) var contentType: [UInt8] = []
    /// The vendor's headers, sorted by name: names in lower case, values as they are signed.
    private(set) var vendorHeaders: [(name: [UInt8], value: [UInt8])] = []
    /// Names of headers that the scheme leaves unsigned.
    private(set) var unboundHeaders: [String] = []
    /// The query parameters that are signed, sorted by name.
    private(set) var subResources: [NamedValue] = []

    private let dialect: V2Dialect

    /// Sorts the headers and parameters of a request by how the scheme treats them.
    ///
    /// - Throws: ``SigningError`` for headers or parameters that could be read in two ways.
    init(headers: [NamedValue], query: [NamedValue], dialect: V2Dialect) throws(SigningError) {
        self.dialect = dialect
        var seen: [[UInt8]] = []
        for header in headers {
            let name = Array(try HeaderName.lowerCased(header.name).utf8)
            guard !header.value.utf8.contains(where: { $0 == 0x0A || $0 == 0x0D || $0 == 0 }) else {
                throw .invalidHeaderValue(name: header.name)
            }
            guard !seen.contains(name) else { throw .duplicateHeader(header.name) }
            seen.append(name)
            take(name, header)
        }
        vendorHeaders.sort { $0.name.lexicographicallyPrecedes($1.name) }
        for parameter in query where dialect.subResources.contain(parameter.name) {
            try take(parameter)
        }
        subResources.sort { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    }

    private mutating func take(_ name: [UInt8], _ header: NamedValue) {
        if name.elementsEqual("content-md5".utf8) {
            contentMD5 = HeaderValue.canonical(header.value, collapsing: false)
        } else if name.elementsEqual("content-type".utf8) {
            contentType = HeaderValue.canonical(header.value, collapsing: false)
        } else if name.starts(with: dialect.headerPrefix.utf8),
            !dialect.unsignedHeaders.contains(where: { $0.utf8.elementsEqual(name) })
        {
            let value = HeaderValue.canonical(header.value, collapsing: dialect.collapsesWhiteSpace)
            vendorHeaders.append((name, value))
        } else {
            unboundHeaders.append(header.name)
        }
    }

    private mutating func take(_ parameter: NamedValue) throws(SigningError) {
        var parameter = parameter
        if case .form = dialect.resourceForm {
            parameter.name = parameter.name.lowercased()
            parameter.value = String(decoding: HeaderValue.canonical(parameter.value, collapsing: false), as: UTF8.self)
        } else {
            // Values are not encoded before they are signed, so text after '&' would be read as another parameter.
            let pieces = parameter.value.utf8.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false)
            for piece in pieces.dropFirst() {
                let name = Substring(piece.prefix { $0 != UInt8(ascii: "=") })
                guard !dialect.subResources.contain(name) else { throw .ambiguousQueryParameter(parameter.name) }
            }
            guard !parameter.value.utf8.contains(where: { $0 == 0x0A || $0 == 0x0D || $0 == 0 }) else {
                throw .ambiguousQueryParameter(parameter.name)
            }
        }
        guard !subResources.contains(where: { $0.name.isSameBytes(as: parameter.name) }) else {
            throw .duplicateQueryParameter(parameter.name)
        }
        subResources.append(parameter)
    }

    /// Appends the sub-resources as in the string to sign, with `?` before the first.
    func appendSubResources(to buffer: inout [UInt8]) {
        var separator = UInt8(ascii: "?")
        for parameter in subResources {
            buffer.append(separator)
            separator = UInt8(ascii: "&")
            if case .form = dialect.resourceForm {
                PercentEncoding.appendForm(parameter, to: &buffer)
            } else {
                buffer += parameter.name.utf8
                guard !parameter.value.isEmpty else { continue }
                buffer.append(UInt8(ascii: "="))
                buffer += parameter.value.utf8
            }
        }
    }
}
