import Bytes

/// The names of buckets and the object keys that no client, proxy or store rewrites on the way.
public enum KeySyntax {
    /// Whether a text is a valid bucket name: 3…63 of `a-z`, `0-9`, `.`, `-` and `_`, with a letter or digit at both
    /// ends and no `..`. Only Google Cloud Storage has buckets with `_`, which cannot be part of a host.
    public static func isBucketName(_ name: String) -> Bool {
        let bytes = name.utf8Span.span
        guard 3...63 ~= bytes.count, ByteSet.lowerAlphanumeric.contains(bytes[0]),
            ByteSet.lowerAlphanumeric.contains(bytes[bytes.count - 1])
        else {
            return false
        }
        for index in 1..<bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "-"), UInt8(ascii: "_"): continue
            case UInt8(ascii: "."):
                if bytes[index - 1] == UInt8(ascii: ".") { return false }
            default:
                if !ByteSet.lowerAlphanumeric.contains(bytes[index]) { return false }
            }
        }
        return true
    }

    /// Why a key is refused, as a sentence; `nil` for a valid key.
    ///
    /// - Parameter key: 1…1,023 UTF-8 bytes; no empty segment (a key that ends in `/` has an empty last segment), no
    ///   segment that a reader could take for `.` or `..`, no control character, no `${`. `\` ends a segment, as `/`
    ///   does.
    public static func flaw(inKey key: String) -> String? {
        if isPlain(key.utf8Span.span) { return nil }
        guard 1...1023 ~= key.utf8.count else { return "A key must be 1 to 1,023 bytes of UTF-8." }
        if let flaw = flaw(inSegmentsOf: key, mayEndInSlash: false) { return flaw }
        return beginsVariable(in: key) ? "A key must not contain '${'." : nil
    }

    /// Whether a text contains `${`, which begins a variable of a template. Neither keys nor prefixes contain it.
    public static func beginsVariable(in text: String) -> Bool {
        let bytes = text.utf8Span.span
        for index in 1..<max(1, bytes.count)
        where bytes[index - 1] == UInt8(ascii: "$") && bytes[index] == UInt8(ascii: "{") {
            return true
        }
        return false
    }

    /// Whether a key is valid without a closer look. One pass answers this for most keys.
    private static func isPlain(_ key: Span<UInt8>) -> Bool {
        guard 1...1023 ~= key.count else { return false }
        var isFirstOfSegment = true
        for index in key.indices {
            let byte = key[index]
            if byte > UInt8(ascii: "/"), byte < UInt8(ascii: "{"), byte != UInt8(ascii: "\\") {
                isFirstOfSegment = false
                continue
            }
            switch byte {
            case 0..<0x20, 0x7f, UInt8(ascii: "{"), UInt8(ascii: "\\"), UInt8(ascii: "%"): return false
            case UInt8(ascii: "/"), UInt8(ascii: "."), UInt8(ascii: " "):
                if isFirstOfSegment { return false }
            default: break
            }
            isFirstOfSegment = byte == UInt8(ascii: "/")
        }
        return !isFirstOfSegment
    }

    /// Why the segments of a key or prefix are refused, as a sentence; `nil` for valid segments.
    ///
    /// - Parameters:
    ///   - text: The key or prefix, of any length.
    ///   - mayEndInSlash: Whether the last segment may be empty, as in a prefix.
    public static func flaw(inSegmentsOf text: String, mayEndInSlash: Bool) -> String? {
        let bytes = text.utf8Span.span
        for index in bytes.indices where bytes[index] < 0x20 || bytes[index] == 0x7f {
            return "Control characters are not allowed."
        }
        let mayEndEmpty = mayEndInSlash && (bytes.isEmpty || bytes[bytes.count - 1] == UInt8(ascii: "/"))
        var flaw: String?
        forEachSegment(of: bytes) { segment, isLast in
            if segment.isEmpty, !(isLast && mayEndEmpty) {
                flaw = "Empty segments (a leading, trailing or double '/' or '\\') are not allowed."
            } else if isDots(segment) {
                flaw = dotsFlaw
            }
        }
        if let flaw { return flaw }
        // A reader that decodes twice takes `%2e%2e` for `..`.
        guard let decoded = decoded(bytes) else { return nil }
        forEachSegment(of: decoded.span) { segment, _ in
            if isDots(segment) { flaw = dotsFlaw }
        }
        return flaw
    }

    /// Whether a reader could take a segment for `.`, `..` or nothing: it consists of dots and spaces up to a `;`.
    /// Windows drops dots and spaces at the end, Java servers drop whatever follows a `;`.
    public static func isDots(_ segment: Span<UInt8>) -> Bool {
        var hasDot = false
        for index in segment.indices {
            switch segment[index] {
            case UInt8(ascii: "."): hasDot = true
            case UInt8(ascii: " "): break
            case UInt8(ascii: ";"): return hasDot
            default: return false
            }
        }
        return hasDot
    }

    private static let dotsFlaw =
        "The segments '.' and '..', and segments that may be read as one of them, are not allowed."

    private static func forEachSegment(of bytes: Span<UInt8>, _ body: (Span<UInt8>, _ isLast: Bool) -> Void) {
        var start = 0
        for index in 0...bytes.count {
            let isEnd = index == bytes.count
            guard isEnd || bytes[index] == UInt8(ascii: "/") || bytes[index] == UInt8(ascii: "\\") else { continue }
            body(bytes.extracting(start..<index), isEnd)
            start = index + 1
        }
    }

    /// The bytes with every escape (`%` and two hexadecimal digits) decoded; `nil` without an escape.
    private static func decoded(_ bytes: Span<UInt8>) -> [UInt8]? {
        var decoded: [UInt8] = []
        var index = 0
        while index < bytes.count {
            if bytes[index] == UInt8(ascii: "%"), index + 2 < bytes.count, let high = Hex.value(of: bytes[index + 1]),
                let low = Hex.value(of: bytes[index + 2])
            {
                decoded.append(high << 4 | low)
                index += 3
            } else {
                decoded.append(bytes[index])
                index += 1
            }
        }
        return decoded.count == bytes.count ? nil : decoded
    }
}
