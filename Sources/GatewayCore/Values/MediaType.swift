/// A content type as RFC 9110, section 8.3.1, has it.
public struct MediaType: Sendable, Equatable {
    /// The whole text with its parameters, as the caller wrote it; this is what a URL binds.
    public let text: String
    /// Type and subtype in lower case, without parameters.
    public let essence: String

    /// Reads a content type; `nil` unless it is `type/subtype` with optional parameters, of at most 255 bytes.
    ///
    /// Wildcards are refused: an object has one type.
    public init?(_ text: String) {
        guard text.utf8.count <= 255, let essence = MediaTypeSyntax.essence(of: text) else { return nil }
        guard !essence.utf8.contains(UInt8(ascii: "*")) else { return nil }
        self.text = text
        self.essence = essence
    }

    /// Whether a condition's entry covers this type: the same essence, or `type/*`.
    ///
    /// Types that a browser runs as a document are covered only by their own name.
    public func isCovered(by pattern: String) -> Bool {
        let pattern = pattern.utf8
        guard pattern.suffix(2).elementsEqual("/*".utf8) else {
            return pattern.count == essence.utf8.count
                && zip(pattern, essence.utf8).allSatisfy { ASCII.lowercased($0) == $1 }
        }
        let type = pattern.dropLast()
        return essence.utf8.count > type.count && zip(type, essence.utf8).allSatisfy { ASCII.lowercased($0) == $1 }
            && !Self.neverByPattern.contains(essence)
    }

    private static let neverByPattern: Set<String> = ["text/html", "image/svg+xml", "application/xhtml+xml"]

    /// Checks an entry of ``GrantConditions/contentTypes`` and writes it in lower case; `nil` when it is neither
    /// `type/subtype` nor `type/*`, or has parameters.
    static func pattern(_ text: String) -> String? {
        guard text.utf8.count <= 255, let essence = MediaTypeSyntax.essence(of: text),
            essence.utf8.count == text.utf8.count
        else { return nil }
        let parts = essence.utf8.split(separator: UInt8(ascii: "/"))
        guard !parts[0].contains(UInt8(ascii: "*")) else { return nil }
        guard parts[1].elementsEqual("*".utf8) || !parts[1].contains(UInt8(ascii: "*")) else { return nil }
        return essence
    }
}

/// The grammar of `type/subtype; name=value`.
private enum MediaTypeSyntax {
    static func essence(of text: String) -> String? {
        var rest = text.utf8[...]
        guard let type = token(&rest), rest.popFirst() == UInt8(ascii: "/"), let subtype = token(&rest) else {
            return nil
        }
        let essence = (type + [UInt8(ascii: "/")] + subtype).map(ASCII.lowercased)
        while !rest.isEmpty {
            skipSpace(&rest)
            guard rest.popFirst() == UInt8(ascii: ";") else { return nil }
            skipSpace(&rest)
            guard token(&rest) != nil, rest.popFirst() == UInt8(ascii: "="), skipValue(&rest) else { return nil }
        }
        return String(decoding: essence, as: UTF8.self)
    }

    private static func token(_ rest: inout Substring.UTF8View) -> [UInt8]? {
        let token = Array(rest.prefix(while: ASCII.isToken))
        rest = rest.dropFirst(token.count)
        return token.isEmpty ? nil : token
    }

    private static func skipSpace(_ rest: inout Substring.UTF8View) {
        rest = rest.drop { $0 == UInt8(ascii: " ") }
    }

    private static func skipValue(_ rest: inout Substring.UTF8View) -> Bool {
        guard rest.first == UInt8(ascii: "\"") else { return token(&rest) != nil }
        rest = rest.dropFirst()
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "\""): return true
            case UInt8(ascii: "\\"):
                guard let escaped = rest.popFirst(), 0x20...0x7e ~= escaped else { return false }
            case 0x20...0x7e: continue
            default: return false
            }
        }
        return false
    }
}
