/// Base64 with the standard alphabet and padding (RFC 4648, section 4).
public enum Base64 {
    private static let padding = UInt8(ascii: "=")

    /// Writes bytes as base64 with padding.
    public static func encode(_ bytes: [UInt8]) -> String {
        encode(bytes.span)
    }

    /// Writes bytes as base64 with padding.
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

    /// Reads base64; `nil` unless the text is exactly what ``encode(_:)`` writes for some bytes.
    ///
    /// White space, missing padding, other alphabets and stray bits in the last character are all refused, so that no two
    /// texts stand for the same bytes.
    public static func decode(_ text: String) -> [UInt8]? {
        let characters = text.utf8Span.span
        guard characters.count.isMultiple(of: 4) else { return nil }
        var end = characters.count
        while end > 0, end > characters.count - 2, characters[end - 1] == padding { end -= 1 }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(characters.count / 4 * 3)
        var bits: UInt32 = 0
        var bitCount: UInt32 = 0
        for index in 0..<end {
            guard let value = value(of: characters[index]) else { return nil }
            bits = (bits << 6 | value) & 0xFFFF
            bitCount += 6
            if bitCount >= 8 {
                bitCount -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> bitCount))
            }
        }
        let strayBits = bits & ((1 << bitCount) - 1)
        return strayBits == 0 ? bytes : nil
    }

    private static func value(of character: UInt8) -> UInt32? {
        switch character {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(character - UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(character - UInt8(ascii: "a")) + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(character - UInt8(ascii: "0")) + 52
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}
