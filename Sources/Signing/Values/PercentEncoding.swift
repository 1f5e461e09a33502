import LibCrypto

/// Percent-encoding of RFC 3986: letters, digits and `-._~` are kept, every other byte becomes `%XX` in upper case.
package enum PercentEncoding {
    /// A set of ASCII bytes that are kept, one bit for each.
    ///
    /// The sets of the fast path are written as bits, so that using them neither computes nor initialises anything.
    package struct ByteSet: Sendable {
        private let low: UInt64
        private let high: UInt64

        init(low: UInt64, high: UInt64) {
            self.low = low
            self.high = high
        }

        init(_ characters: String) {
            var bits: (low: UInt64, high: UInt64) = (0, 0)
            for byte in characters.utf8 {
                if byte < 64 { bits.low |= 1 << UInt64(byte) } else { bits.high |= 1 << UInt64(byte - 64) }
            }
            (low, high) = bits
        }

        /// The set with further characters.
        package func union(_ characters: String) -> ByteSet {
            let other = ByteSet(characters)
            return ByteSet(low: low | other.low, high: high | other.high)
        }

        func contains(_ byte: UInt8) -> Bool {
            byte < 128 && ((byte < 64 ? low : high) >> UInt64(byte & 63)) & 1 == 1
        }
    }

    /// Kept in the name or value of a query parameter: letters, digits and `-._~`.
    package static let unreserved = ByteSet(low: 0x03FF_6000_0000_0000, high: 0x47FF_FFFE_87FF_FFFE)
    /// Kept in a path, where `/` separates segments.
    static let unreservedAndSlash = ByteSet(low: 0x03FF_E000_0000_0000, high: 0x47FF_FFFE_87FF_FFFE)
    /// What RFC 3986, section 3.3, allows in a path.
    static let pathCharacters = ByteSet(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!$&'()*+,;=:@/%"
    )

    /// Appends a text, encoded. The output needs room for three bytes per byte of the text.
    static func append(_ text: String, keeping kept: ByteSet, to output: inout OutputSpan<UInt8>) {
        append(text.utf8Span.span, keeping: kept, to: &output)
    }

    /// Appends a key as a path, encoded except for `/`. The output needs room for three bytes per byte of the key.
    static func appendPath(_ key: String, to output: inout OutputSpan<UInt8>) {
        let bytes = key.utf8Span.span
        if bytes.isPlainPath {
            output.append(copying: bytes)
        } else {
            append(bytes, keeping: unreservedAndSlash, to: &output)
        }
    }

    /// Appends bytes, encoded. The output needs room for three bytes per byte.
    static func append(_ bytes: Span<UInt8>, keeping kept: ByteSet, to output: inout OutputSpan<UInt8>) {
        var start = 0
        for index in bytes.indices where !kept.contains(bytes[index]) {
            output.append(copying: bytes.extracting(start..<index))
            output.append(UInt8(ascii: "%"))
            output.append(upperHexDigit(bytes[index] >> 4))
            output.append(upperHexDigit(bytes[index] & 0xF))
            start = index + 1
        }
        output.append(copying: bytes.extracting(start..<bytes.count))
    }

    /// Encodes what was appended since a position, in its place. The output needs room for two more bytes for each byte
    /// that is not kept.
    static func encode(from start: Int, keeping kept: ByteSet, in output: inout OutputSpan<UInt8>) {
        var source = output.count
        for index in start..<source where !kept.contains(output.span[index]) {
            output.append(repeating: 0, count: 2)
        }
        var target = output.count
        var bytes = output.mutableSpan
        // Backwards, so that nothing is overwritten before it is read; what precedes the first such byte stays.
        while target > source {
            source -= 1
            let byte = bytes[source]
            if kept.contains(byte) {
                target -= 1
                bytes[target] = byte
            } else {
                target -= 3
                bytes[target] = UInt8(ascii: "%")
                bytes[target + 1] = upperHexDigit(byte >> 4)
                bytes[target + 2] = upperHexDigit(byte & 0xF)
            }
        }
    }

    static func append(_ text: String, keeping kept: ByteSet, to buffer: inout [UInt8]) {
        append(text.utf8Span.span, keeping: kept, to: &buffer)
    }

    static func append(_ bytes: Span<UInt8>, keeping kept: ByteSet, to buffer: inout [UInt8]) {
        buffer.append(addingCapacity: bytes.count * 3) { append(bytes, keeping: kept, to: &$0) }
    }

    package static func encode(_ text: String, keeping kept: ByteSet) -> [UInt8] {
        var buffer: [UInt8] = []
        append(text, keeping: kept, to: &buffer)
        return buffer
    }

    /// Undoes the encoding; `nil` when a `%` is not followed by two hexadecimal digits.
    package static func decode(_ bytes: some Collection<UInt8>, plusIsSpace: Bool) -> [UInt8]? {
        var decoded: [UInt8] = []
        decoded.reserveCapacity(bytes.count)
        var rest = bytes.makeIterator()
        while let byte = rest.next() {
            switch byte {
            case UInt8(ascii: "%"):
                guard let high = rest.next().flatMap(Hex.value(of:)), let low = rest.next().flatMap(Hex.value(of:))
                else { return nil }
                decoded.append(high << 4 | low)
            case UInt8(ascii: "+") where plusIsSpace:
                decoded.append(UInt8(ascii: " "))
            default:
                decoded.append(byte)
            }
        }
        return decoded
    }

    private static func upperHexDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
    }
}
