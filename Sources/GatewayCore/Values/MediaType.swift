import Bytes

/// A content type as defined by RFC 9110, section 8.3.1.
public struct MediaType: Sendable, Equatable {
    /// The whole text including parameters, as the caller wrote it. A URL binds this text.
    public let text: String
    /// Type and subtype in lower case, without parameters.
    public let essence: String

    /// Reads a content type; `nil` unless the text is `type/subtype` with optional parameters, in at most 255 bytes.
    ///
    /// Wildcards are refused, because an object has one type.
    public init?(_ text: String) {
        guard text.utf8.count <= 255, let essence = MediaTypeSyntax.essence(of: text) else { return nil }
        guard !essence.utf8Span.span.holds(UInt8(ascii: "*")) else { return nil }
        self.text = text
        self.essence = essence
    }

    /// Whether a pattern of a condition covers this type. A pattern is `type/subtype` or `type/*`.
    ///
    /// `type/*` does not cover types whose scripts a browser runs; only their own names do.
    func isCovered(by pattern: String) -> Bool {
        let text = pattern.utf8
        guard text.suffix(2).elementsEqual("/*".utf8) else {
            return text.count == essence.utf8.count && zip(text, essence.utf8).allSatisfy { $0.lowercased == $1 }
        }
        return begins(like: text) && !runsScripts
    }

    /// Whether `type/*` would cover this type if no browser ran its scripts.
    func isLeftOut(by pattern: String) -> Bool {
        pattern.utf8.suffix(2).elementsEqual("/*".utf8) && begins(like: pattern.utf8) && runsScripts
    }

    /// Whether this type begins as `type/*` does before its asterisk, and goes on.
    private func begins(like wildcard: String.UTF8View) -> Bool {
        let type = wildcard.dropLast()
        return essence.utf8.count > type.count && zip(type, essence.utf8).allSatisfy { $0.lowercased == $1 }
    }

    /// Whether a browser that opens such an object runs scripts in it, with the rights of the bucket's origin.
    ///
    /// This is true for HTML and for all types that browsers read as XML, because `<script>` of XHTML works in any XML
    /// document. It is also true for multipart documents whose parts replace each other, and for types that make the
    /// browser guess. PDF is not included, although the standard calls it scriptable: its scripts run inside the viewer
    /// and never reach the origin.
    /// - SeeAlso: WHATWG, "MIME Sniffing", sections 4.6 "MIME type groups" and 7 "Determining the computed MIME type of
    ///   a resource".
    private var runsScripts: Bool {
        switch essence {
        case "text/html", "text/xml", "application/xml",
            // Chromium and WebKit read `text/xsl` as XML, Gecko `text/rdf`.
            "text/xsl", "text/rdf",
            // In Gecko and WebKit, each part is a document.
            "multipart/x-mixed-replace",
            // Browsers read these as HTML if the bytes look like it.
            "application/unknown", "unknown/unknown":
            true
        default: essence.utf8.suffix(4).elementsEqual("+xml".utf8)
        }
    }

    /// Validates an entry of ``GrantConditions/contentTypes`` and converts it to lower case. Returns `nil` unless the
    /// entry is `type/subtype` or `type/*` without parameters.
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

extension Span<UInt8> {
    /// Whether a byte occurs in this span.
    fileprivate func holds(_ byte: UInt8) -> Bool {
        for index in indices where self[index] == byte { return true }
        return false
    }
}

/// The grammar of `type/subtype; name=value`.
private enum MediaTypeSyntax {
    /// Returns type and subtype in lower case; `nil` if the text is not a content type.
    static func essence(of text: String) -> String? {
        let bytes = text.utf8Span.span
        guard let slash = token(in: bytes, from: 0), slash < bytes.count, bytes[slash] == UInt8(ascii: "/"),
            let end = token(in: bytes, from: slash + 1)
        else { return nil }
        var position = end
        while position < bytes.count {
            position = skipSpace(in: bytes, from: position)
            guard position < bytes.count, bytes[position] == UInt8(ascii: ";") else { return nil }
            position = skipSpace(in: bytes, from: position + 1)
            guard let equals = token(in: bytes, from: position), equals < bytes.count,
                bytes[equals] == UInt8(ascii: "="), let next = skipValue(in: bytes, from: equals + 1)
            else { return nil }
            position = next
        }
        // Most content types are in lower case without parameters and can be returned as they are.
        var isLower = true
        for index in 0..<end where bytes[index].lowercased != bytes[index] { isLower = false }
        if isLower, end == bytes.count { return text }
        return String(decoding: text.utf8.prefix(end).map(\.lowercased), as: UTF8.self)
    }

    /// Returns the end of the token that begins at a position; `nil` if there is no token.
    private static func token(in bytes: Span<UInt8>, from start: Int) -> Int? {
        var end = start
        while end < bytes.count, ByteSet.token.contains(bytes[end]) { end += 1 }
        return end > start ? end : nil
    }

    private static func skipSpace(in bytes: Span<UInt8>, from start: Int) -> Int {
        var position = start
        while position < bytes.count, bytes[position] == UInt8(ascii: " ") { position += 1 }
        return position
    }

    private static func skipValue(in bytes: Span<UInt8>, from start: Int) -> Int? {
        guard start < bytes.count, bytes[start] == UInt8(ascii: "\"") else { return token(in: bytes, from: start) }
        var position = start + 1
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "\""): return position + 1
            case UInt8(ascii: "\\"):
                position += 1
                guard position < bytes.count, 0x20...0x7e ~= bytes[position] else { return nil }
            case 0x20...0x7e: break
            default: return nil
            }
            position += 1
        }
        return nil
    }
}
