/// Hexadecimal text.
public enum Hex {
    /// Writes bytes as lower-case hexadecimal text.
    public static func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        text.append(addingCapacity: bytes.count * 2) { append(bytes.span, to: &$0) }
        return String(decoding: text, as: UTF8.self)
    }

    /// Appends bytes as lower-case hexadecimal text, for which there must be room.
    public static func append(_ bytes: Span<UInt8>, to output: inout OutputSpan<UInt8>) {
        precondition(2 * bytes.count <= output.freeCapacity, "There is no room for so many digits")
        // Without a check between them, the compiler does many at once.
        unsafe bytes.withUnsafeBufferPointer { source in
            unsafe output.withUnsafeMutableBufferPointer { buffer, count in
                guard let base = buffer.baseAddress else { return }
                let digits = unsafe base + count
                for index in source.indices {
                    unsafe digits[2 * index] = digit(source[index] >> 4)
                    unsafe digits[2 * index + 1] = digit(source[index] & 0xF)
                }
                count += 2 * source.count
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
        // 39 lie between `9` and `a`.
        value &+ UInt8(ascii: "0") &+ (value > 9 ? 39 : 0)
    }
}
