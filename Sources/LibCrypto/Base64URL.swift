/// Base64 with the alphabet of URLs and no padding (RFC 4648, section 5), as JOSE writes it.
public enum Base64URL {
    /// Encodes bytes.
    public static func encode(_ bytes: [UInt8]) -> String {
        let text = Base64.encode(bytes).utf8.compactMap { byte -> UInt8? in
            switch byte {
            case UInt8(ascii: "+"): UInt8(ascii: "-")
            case UInt8(ascii: "/"): UInt8(ascii: "_")
            case UInt8(ascii: "="): nil
            default: byte
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Decodes a text; `nil` unless it is the canonical encoding of its bytes.
    public static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        decode(Array(text).span)
    }

    /// Decodes a text; `nil` unless it is the canonical encoding of its bytes.
    public static func decode(_ text: Span<UInt8>) -> [UInt8]? {
        let count = text.count
        // One character encodes six bits, less than a byte.
        guard count % 4 != 1 else { return nil }
        var flaws: UInt32 = 0
        let bytes = [UInt8](capacity: count / 4 * 3 + 2) { output in
            for start in stride(from: 0, to: count, by: 4) {
                let end = min(start + 4, count)
                var bits: UInt32 = 0
                for index in start..<end {
                    let value = value(of: text[index])
                    flaws |= value
                    bits = bits << 6 | value & 0x3F
                }
                bits <<= UInt32(8 + 6 * (start + 4 - end))
                for _ in 1..<(end - start) {
                    output.append(UInt8(truncatingIfNeeded: bits >> 24))
                    bits <<= 8
                }
                // The remaining bits are zeros; otherwise another text would decode to the same bytes.
                if bits != 0 { flaws |= notInAlphabet }
            }
        }
        return flaws & notInAlphabet == 0 ? bytes : nil
    }

    private static let notInAlphabet: UInt32 = 1 << 31

    /// The value of a character, or ``notInAlphabet``.
    private static func value(of character: UInt8) -> UInt32 {
        switch character {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(character - UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(character - UInt8(ascii: "a")) + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(character - UInt8(ascii: "0")) + 52
        case UInt8(ascii: "-"): 62
        case UInt8(ascii: "_"): 63
        default: notInAlphabet
        }
    }
}
