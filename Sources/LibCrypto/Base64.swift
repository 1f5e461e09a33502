/// Base64 with the standard alphabet and padding (RFC 4648, section 4).
public enum Base64 {
    private static let padding = UInt8(ascii: "=")

    /// Encodes bytes as base64 with padding.
    public static func encode(_ bytes: [UInt8]) -> String {
        encode(bytes.span)
    }

    /// Encodes bytes as base64 with padding.
    public static func encode(_ bytes: Span<UInt8>) -> String {
        String(room: (bytes.count + 2) / 3 * 4) { output in
            for start in stride(from: 0, to: bytes.count, by: 3) {
                let count = min(3, bytes.count - start)
                var bits: UInt32 = 0
                for index in 0..<3 { bits = bits << 8 | (index < count ? UInt32(bytes[start + index]) : 0) }
                for position in 0..<4 {
                    let value = UInt8(truncatingIfNeeded: bits >> UInt32(18 - 6 * position)) & 0x3F
                    output.append(position <= count ? character(of: value) : padding)
                }
            }
        }
    }

    private static func character(of value: UInt8) -> UInt8 {
        switch value {
        case 0..<26: UInt8(ascii: "A") + value
        case 26..<52: UInt8(ascii: "a") + value - 26
        case 52..<62: UInt8(ascii: "0") + value - 52
        case 62: UInt8(ascii: "+")
        default: UInt8(ascii: "/")
        }
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
        var flaws: UInt32 = 0
        let bytes = [UInt8](capacity: count / 4 * 3) { output in
            for start in stride(from: 0, to: count, by: 4) {
                var bits: UInt32 = 0
                for index in start..<(start + 4) {
                    let value = index < count - paddingCount ? value(of: characters[index]) : 0
                    flaws |= value
                    bits = bits << 6 | value & 0x3F
                }
                output.append(UInt8(truncatingIfNeeded: bits >> 16))
                output.append(UInt8(truncatingIfNeeded: bits >> 8))
                output.append(UInt8(truncatingIfNeeded: bits))
            }
            // The bits before the padding are zeros; otherwise another text would decode to the same bytes.
            for _ in 0..<paddingCount where output.removeLast() != 0 { flaws |= notInAlphabet }
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
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: notInAlphabet
        }
    }
}
