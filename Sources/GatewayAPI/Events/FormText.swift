import Bytes

/// Decodes text as forms and notifications encode it.
enum FormText {
    /// Decodes `%XX` and `+`; `nil` where the text is not validly encoded, or its bytes are not UTF-8.
    static func decode(_ text: Substring) -> String? { PercentEncoding.text(text.utf8, plusIsSpace: true) }

    /// Reads `name=value&…`; `nil` for a text that repeats a name or cannot be decoded.
    static func fields(in text: String) -> [String: String]? {
        var fields: [String: String] = [:]
        for pair in text.utf8.split(separator: UInt8(ascii: "&")) {
            let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
                .map { Substring($0) }
            guard let name = decode(parts[0]), let value = decode(parts.count > 1 ? parts[1] : ""), fields[name] == nil
            else { return nil }
            fields[name] = value
        }
        return fields
    }
}
