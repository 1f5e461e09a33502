/// Hexadecimal text.
public enum Hex {
    /// Writes bytes as lower-case hexadecimal text.
    public static func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count * 2)
        append(bytes.span, to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    /// Appends bytes to a buffer as lower-case hexadecimal text.
    public static func append(_ bytes: Span<UInt8>, to buffer: inout [UInt8]) {
        buffer.append(addingCapacity: bytes.count * 2) { output in
            for index in bytes.indices {
                let byte = bytes[index]
                output.append(digit(byte >> 4))
                output.append(digit(byte & 0xF))
            }
        }
    }

    /// Reads hexadecimal text of either case; `nil` for an odd number of digits or any other character.
    public static func decode(_ text: String) -> [UInt8]? {
        var bytes: [UInt8] = []
        var high: UInt8?
        for character in text.utf8 {
            guard let value = value(of: character) else { return nil }
            if let first = high {
                bytes.append(first << 4 | value)
                high = nil
            } else {
                high = value
            }
        }
        return high == nil ? bytes : nil
    }

    /// The value of one hexadecimal digit of either case, `nil` for any other byte.
    public static func value(of digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }
}
