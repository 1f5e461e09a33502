/// What a bucket's name and an object's key may look like, so that no client, proxy or store on the way rewrites them.
public enum KeySyntax {
    /// Whether a text is a bucket's name: 3…63 of `a-z`, `0-9`, `.` and `-`, with a letter or digit at both ends and no
    /// `..`.
    public static func isBucketName(_ name: String) -> Bool {
        let bytes = name.utf8
        let isAlphanumeric = { (byte: UInt8) in
            UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
        }
        guard 3...63 ~= bytes.count, let first = bytes.first, let last = bytes.last else { return false }
        return isAlphanumeric(first) && isAlphanumeric(last)
            && bytes.allSatisfy { isAlphanumeric($0) || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ".") }
            && !zip(bytes, bytes.dropFirst()).contains { $0 == UInt8(ascii: ".") && $1 == UInt8(ascii: ".") }
    }

    /// Why a key is refused, as a sentence; `nil` for a good one.
    ///
    /// - Parameter key: 1…1,023 UTF-8 bytes; no leading `/` or `\`, no `.`, `..` or empty segment (a key that ends in `/` is
    ///   one with an empty last segment), no control character, no `${`.
    public static func flaw(inKey key: String) -> String? {
        let bytes = key.utf8
        guard 1...1023 ~= bytes.count else { return "A key has 1 to 1,023 bytes of UTF-8." }
        if let flaw = flaw(inSegmentsOf: key, mayEndInSlash: false) { return flaw }
        let isVariable = zip(bytes, bytes.dropFirst()).contains { $0 == UInt8(ascii: "$") && $1 == UInt8(ascii: "{") }
        return isVariable ? "A key must not hold '${'." : nil
    }

    /// Why the segments of a key or prefix are refused, as a sentence; `nil` for good ones.
    ///
    /// - Parameters:
    ///   - text: The key or prefix, of any length.
    ///   - mayEndInSlash: Whether the last segment may be empty, as in a prefix.
    public static func flaw(inSegmentsOf text: String, mayEndInSlash: Bool) -> String? {
        let bytes = text.utf8
        if bytes.contains(where: { $0 < 0x20 || $0 == 0x7f }) { return "Control characters are not allowed." }
        if bytes.first == UInt8(ascii: "\\") { return "A leading '\\' is not allowed." }
        var segments = bytes.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)[...]
        if mayEndInSlash, segments.last?.isEmpty == true { segments.removeLast() }
        for segment in segments {
            if segment.isEmpty { return "Empty segments (a leading, trailing or double '/') are not allowed." }
            if segment.elementsEqual(".".utf8) || segment.elementsEqual("..".utf8) {
                return "The segments '.' and '..' are not allowed."
            }
        }
        return nil
    }
}
