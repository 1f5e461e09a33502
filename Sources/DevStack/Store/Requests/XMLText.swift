/// Reads the documents that clients send: plain elements, without declarations and sections of other kinds.
enum XMLText {
    /// The text of a document with the given root.
    ///
    /// - Throws: ``StoreError/malformedXML``.
    static func document(_ bytes: [UInt8], root: String) throws(StoreError) -> String {
        guard let text = String(validating: bytes, as: UTF8.self), text.contains("<\(root)"), !text.contains("<!")
        else { throw .malformedXML }
        return text
    }

    /// The texts between each `<name>` and the next `</name>`.
    static func pieces(of text: some StringProtocol, _ name: String) -> [String] {
        var pieces: [String] = []
        var rest = Substring(text)
        while let start = rest.firstRange(of: "<\(name)>"),
            let end = rest[start.upperBound...].firstRange(of: "</\(name)>")
        {
            pieces.append(String(rest[start.upperBound..<end.lowerBound]))
            rest = rest[end.upperBound...]
        }
        return pieces
    }

    /// The text that an element stands for; `nil` for an entity that XML does not define.
    static func unescaped(_ text: String) -> String? {
        var result = ""
        var rest = text[...]
        while let start = rest.firstIndex(of: "&") {
            result += rest[..<start]
            guard let end = rest[start...].firstIndex(of: ";") else { return nil }
            let name = rest[rest.index(after: start)..<end]
            guard let scalar = scalar(named: name) else { return nil }
            result.unicodeScalars.append(scalar)
            rest = rest[rest.index(after: end)...]
        }
        return result + rest
    }

    private static func scalar(named name: Substring) -> Unicode.Scalar? {
        switch name {
        case "lt": "<"
        case "gt": ">"
        case "amp": "&"
        case "quot": "\""
        case "apos": "'"
        case _ where name.hasPrefix("#x"): UInt32(name.dropFirst(2), radix: 16).flatMap(Unicode.Scalar.init)
        case _ where name.hasPrefix("#"): UInt32(name.dropFirst()).flatMap(Unicode.Scalar.init)
        default: nil
        }
    }
}
