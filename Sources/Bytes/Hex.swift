/// Hexadecimal text.
public enum Hex {
    /// Writes bytes as lower-case hexadecimal text.
    public static func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        text.append(addingCapacity: bytes.count * 2) { append(bytes.span, to: &$0) }
        return String(decoding: text, as: UTF8.self)
    }

    /// Appends bytes as lower-case hexadecimal text. The output needs room for it.
    public static func append(_ bytes: Span<UInt8>, to output: inout OutputSpan<UInt8>) {
        precondition(2 * bytes.count <= output.freeCapacity, "There is no room for so many digits")
        let source = unsafe bytes.bytes
        unsafe output.withUnsafeMutableBufferPointer { buffer, count in
            guard let base = buffer.baseAddress else { return }
            let target = unsafe UnsafeMutableRawPointer(base + count)
            var place = 0
            while place + 16 <= source.byteCount {
                func four(_ offset: Int) -> UInt64 {
                    unsafe UInt64(
                        UInt32(
                            littleEndian: source.unsafeLoadUnaligned(fromByteOffset: place + offset, as: UInt32.self)))
                }
                let text = digits(of: SIMD4(four(0), four(4), four(8), four(12)))
                unsafe target.storeBytes(of: text, toByteOffset: 2 * place, as: SIMD4<UInt64>.self)
                place += 16
            }
            while place < source.byteCount {
                let text = digits(of: SIMD4(UInt64(bytes[place]), 0, 0, 0))[0]
                unsafe target.storeBytes(of: UInt16(truncatingIfNeeded: text), toByteOffset: 2 * place, as: UInt16.self)
                place += 1
            }
            count += 2 * source.byteCount
        }
    }

    /// The digits of the four lowest bytes of each number, lowest first, computed in parallel.
    @inline(__always)
    private static func digits(of fours: SIMD4<UInt64>) -> SIMD4<UInt64> {
        func all(_ byte: UInt64) -> SIMD4<UInt64> { SIMD4(repeating: byte) }
        let twos = (fours | fours &<< all(16)) & all(0x0000_FFFF_0000_FFFF)
        let ones = (twos | twos &<< all(8)) & all(0x00FF_00FF_00FF_00FF)
        let values = (ones &>> all(4) | ones &<< all(8)) & all(0x0F0F_0F0F_0F0F_0F0F)
        // Adding six to a value above nine carries into the next digit. The distance between `9` and `a` is 39, which
        // is 32 + 8 - 1.
        let isLetter = (values &+ all(0x0606_0606_0606_0606)) &>> all(4) & all(0x0101_0101_0101_0101)
        let letters = isLetter &<< all(5) &+ isLetter &<< all(3) &- isLetter
        return (values &+ all(0x3030_3030_3030_3030) &+ letters)
    }

    /// Appends a number as eight lower-case digits, the highest first.
    public static func append(_ value: UInt32, to output: inout OutputSpan<UInt8>) {
        output.append(inMemory: eightDigits(of: value).bigEndian)
    }

    /// Appends a number as four lower-case digits, the highest first.
    public static func append(_ value: UInt16, to output: inout OutputSpan<UInt8>) {
        output.append(inMemory: UInt32(truncatingIfNeeded: eightDigits(of: UInt32(value))).bigEndian)
    }

    /// The eight digits of a number, one per byte, computed in parallel.
    private static func eightDigits(of value: UInt32) -> UInt64 {
        var nibbles = UInt64(value)
        nibbles = (nibbles << 16 | nibbles) & 0x0000_FFFF_0000_FFFF
        nibbles = (nibbles << 8 | nibbles) & 0x00FF_00FF_00FF_00FF
        nibbles = (nibbles << 4 | nibbles) & 0x0F0F_0F0F_0F0F_0F0F
        let letters = ((nibbles &+ 0x0606_0606_0606_0606) >> 4) & 0x0101_0101_0101_0101
        // The distance between `9` and `a` is 39.
        return nibbles &+ 0x3030_3030_3030_3030 &+ letters &* 39
    }

    /// Decodes hexadecimal text of either case; `nil` for an odd number of digits or any other character.
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
}
