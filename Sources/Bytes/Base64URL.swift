/// Base64 with the alphabet of URLs and no padding (RFC 4648, section 5), as JOSE writes it.
public enum Base64URL {
    /// Encodes bytes.
    public static func encode(_ bytes: [UInt8]) -> String {
        Base64Alphabet.url.encode(bytes.span, padding: nil)
    }

    /// Decodes a text; `nil` unless it is the canonical encoding of its bytes.
    public static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        decode(Array(text).span)
    }

    /// Decodes a text; `nil` unless it is the canonical encoding of its bytes.
    public static func decode(_ text: Span<UInt8>) -> [UInt8]? {
        Base64Alphabet.url.decode(text, count: text.count)
    }
}
