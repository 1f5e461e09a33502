/// Base64 with the standard alphabet and padding (RFC 4648, section 4).
public enum Base64 {
    private static let padding = UInt8(ascii: "=")

    /// Encodes bytes as base64 with padding.
    public static func encode(_ bytes: [UInt8]) -> String {
        encode(bytes.span)
    }

    /// Encodes bytes as base64 with padding.
    public static func encode(_ bytes: Span<UInt8>) -> String {
        Base64Alphabet.standard.encode(bytes, padding: padding)
    }

    /// Appends bytes as base64 with padding. The output needs room for it: four bytes for each three, begun or whole.
    public static func append(_ bytes: Span<UInt8>, to output: inout OutputSpan<UInt8>) {
        Base64Alphabet.standard.append(bytes, padding: padding, to: &output)
    }

    /// Decodes base64; `nil` unless ``encode(_:)`` writes exactly this text for some bytes.
    ///
    /// White space, missing padding, other alphabets and stray bits in the last character are refused, so that no two
    /// texts decode to the same bytes.
    public static func decode(_ text: String) -> [UInt8]? {
        let characters = text.utf8Span.span
        let count = characters.count
        guard count.isMultiple(of: 4) else { return nil }
        guard count > 0 else { return [] }
        let paddingCount = characters[count - 1] != padding ? 0 : characters[count - 2] != padding ? 1 : 2
        return Base64Alphabet.standard.decode(characters, count: count - paddingCount)
    }
}
