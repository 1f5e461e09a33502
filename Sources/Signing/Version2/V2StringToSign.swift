/// What "version 2" schemes sign: method, MD5, type, date, the vendor's headers, and the resource.
enum V2StringToSign {
    /// Writes the text.
    ///
    /// - Parameters:
    ///   - method: Method in upper case.
    ///   - bound: Headers and sub-resources.
    ///   - date: The date line: value of a date header, seconds since 1970 in a URL, or empty.
    ///   - path: The path of the resource.
    static func text(method: String, bound: V2BoundParts, date: String, path: [UInt8]) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(512)
        let newline = UInt8(ascii: "\n")
        text += method.utf8
        text.append(newline)
        text += bound.contentMD5
        text.append(newline)
        text += bound.contentType
        text.append(newline)
        text += date.utf8
        text.append(newline)
        for header in bound.vendorHeaders {
            text += header.name
            text.append(UInt8(ascii: ":"))
            text += header.value
            text.append(newline)
        }
        text += path
        bound.appendSubResources(to: &text)
        return text
    }
}

/// The path of a resource, as it is sent and as it is signed.
enum V2Resource {
    /// The path as the URL shall show it.
    ///
    /// - Throws: ``SigningError/pathNamesAnotherObject(_:)``, or ``SigningError/ambiguousKey(_:)``.
    static func urlPath(of request: PresignRequest, dialect: V2Dialect) throws(SigningError) -> [UInt8] {
        if case .raw = dialect.resourceForm {
            guard !request.key.utf8.contains(UInt8(ascii: "?")) else {
                throw .ambiguousKey("it holds '?', after which sub-resources are signed")
            }
            guard !request.key.utf8.contains(UInt8(ascii: "\n")) else {
                throw .ambiguousKey("it holds a line feed, which separates what is signed")
            }
        }
        func encoded(keeping kept: PercentEncoding.ByteSet) -> [UInt8] {
            var path = Array("\(request.address.path)/".utf8)
            PercentEncoding.append(request.key, keeping: kept, to: &path)
            return path
        }
        switch request.pathForm {
        case .slashKept: return encoded(keeping: PercentEncoding.unreservedAndSlash)
        case .slashEscaped: return encoded(keeping: PercentEncoding.unreserved)
        case .asSent(let path):
            let bytes = Array(path.utf8)
            let object = encoded(keeping: PercentEncoding.unreservedAndSlash)
            guard bytes.allSatisfy(PercentEncoding.pathCharacters.contains),
                let decoded = PercentEncoding.decode(bytes, plusIsSpace: false),
                decoded == PercentEncoding.decode(object, plusIsSpace: false)
            else { throw .pathNamesAnotherObject(path) }
            return bytes
        }
    }

    /// The path as it is signed, always with the bucket.
    static func signedPath(of request: PresignRequest, urlPath: [UInt8], dialect: V2Dialect) -> [UInt8] {
        let address = request.address
        switch dialect.resourceForm {
        case .raw:
            return Array("/\(address.bucket)/\(request.key)".utf8)
        case .pathAsSent, .form:
            guard !address.isPathStyle else { return urlPath }
            return Array("/".utf8) + PercentEncoding.encode(address.bucket, keeping: PercentEncoding.unreserved)
                + urlPath
        }
    }
}
