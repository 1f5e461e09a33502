/// The string to sign of "version 2" schemes: method, MD5, type, date, the vendor's headers, and the resource.
enum V2StringToSign {
    /// Writes the text of the stage.
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
