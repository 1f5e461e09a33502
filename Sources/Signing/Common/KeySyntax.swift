/// What a bucket's name and an object's key may look like, so that no client, proxy or store on the way rewrites them.
public enum KeySyntax {
    /// Whether a text is a bucket's name: 3…63 of `a-z`, `0-9`, `.` and `-`, with a letter or digit at both ends and no
    /// `..`.
    public static func isBucketName(_ name: String) -> Bool {
        let bytes = name.utf8Span.span
        guard 3...63 ~= bytes.count, isLowerAlphanumeric(bytes[0]), isLowerAlphanumeric(bytes[bytes.count - 1]) else {
            return false
        }
        for index in 1..<bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "-"): continue
            case UInt8(ascii: "."):
                if bytes[index - 1] == UInt8(ascii: ".") { return false }
            default:
                if !isLowerAlphanumeric(bytes[index]) { return false }
            }
        }
        return true
    }

    private static func isLowerAlphanumeric(_ byte: UInt8) -> Bool {
        UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
    }

    /// Why a key is refused, as a sentence; `nil` for a good one.
    ///
    /// - Parameter key: 1…1,023 UTF-8 bytes; no leading `/` or `\`, no `.`, `..` or empty segment (a key that ends in `/` is
    ///   one with an empty last segment), no control character, no `${`.
    public static func flaw(inKey key: String) -> String? {
        if isPlain(key.utf8Span.span) { return nil }
        guard 1...1023 ~= key.utf8.count else { return "A key has 1 to 1,023 bytes of UTF-8." }
        if let flaw = flaw(inSegmentsOf: key, mayEndInSlash: false) { return flaw }
        let bytes = key.utf8Span.span
        for index in 1..<max(1, bytes.count)
        where bytes[index - 1] == UInt8(ascii: "$") && bytes[index] == UInt8(ascii: "{") {
            return "A key must not hold '${'."
        }
        return nil
    }

    /// Whether a key needs no closer look: in one pass, and without saying what is wrong. Most keys are so.
    private static func isPlain(_ key: Span<UInt8>) -> Bool {
        guard 1...1023 ~= key.count, key[0] != UInt8(ascii: "\\") else { return false }
        var isFirstOfSegment = true
        for index in key.indices {
            let byte = key[index]
            if byte > UInt8(ascii: "/"), byte < UInt8(ascii: "{") {
                isFirstOfSegment = false
                continue
            }
            switch byte {
            case 0..<0x20, 0x7f, UInt8(ascii: "{"): return false
            case UInt8(ascii: "/"), UInt8(ascii: "."):
                if isFirstOfSegment { return false }
            default: break
            }
            isFirstOfSegment = byte == UInt8(ascii: "/")
        }
        return !isFirstOfSegment
    }

    /// Why the segments of a key or prefix are refused, as a sentence; `nil` for good ones.
    ///
    /// - Parameters:
    ///   - text: The key or prefix, of any length.
    ///   - mayEndInSlash: Whether the last segment may be empty, as in a prefix.
    public static func flaw(inSegmentsOf text: String, mayEndInSlash: Bool) -> String? {
        let bytes = text.utf8Span.span
        for index in bytes.indices where bytes[index] < 0x20 || bytes[index] == 0x7f {
            return "Control characters are not allowed."
        }
        if bytes.count > 0, bytes[0] == UInt8(ascii: "\\") { return "A leading '\\' is not allowed." }
        var start = 0
        for index in 0...bytes.count where index == bytes.count || bytes[index] == UInt8(ascii: "/") {
            let segment = bytes.extracting(start..<index)
            start = index + 1
            if segment.isEmpty {
                if mayEndInSlash, index == bytes.count { continue }
                return "Empty segments (a leading, trailing or double '/') are not allowed."
            }
            let isDots = segment.count <= 2 && segment[0] == UInt8(ascii: ".")
            if isDots, segment[segment.count - 1] == UInt8(ascii: ".") {
                return "The segments '.' and '..' are not allowed."
            }
        }
        return nil
    }
}
