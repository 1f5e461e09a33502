/// Percent-encoding (RFC 3986, section 2.1): bytes of a set are kept, every other byte becomes `%XX` in upper case.
public enum PercentEncoding {
    /// Appends bytes, encoded. The output needs room for three bytes per byte.
    @inlinable
    public static func append(_ bytes: Span<UInt8>, keeping kept: ByteSet, to output: inout OutputSpan<UInt8>) {
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

    /// Appends a text, encoded.
    public static func append(_ text: String, keeping kept: ByteSet, to buffer: inout [UInt8]) {
        append(text.utf8Span.span, keeping: kept, to: &buffer)
    }

    /// Appends bytes, encoded.
    public static func append(_ bytes: Span<UInt8>, keeping kept: ByteSet, to buffer: inout [UInt8]) {
        buffer.append(addingCapacity: bytes.count * 3) { append(bytes, keeping: kept, to: &$0) }
    }

    /// Returns a text, encoded.
    public static func encode(_ text: String, keeping kept: ByteSet) -> [UInt8] {
        var buffer: [UInt8] = []
        append(text, keeping: kept, to: &buffer)
        return buffer
    }

    /// Encodes what was appended since a position, in its place. The output needs room for two more bytes for each byte
    /// that is not kept.
    public static func encode(from start: Int, keeping kept: ByteSet, in output: inout OutputSpan<UInt8>) {
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

    /// Undoes the encoding; `nil` when a `%` is not followed by two hexadecimal digits.
    public static func decode(_ bytes: some Collection<UInt8>, plusIsSpace: Bool) -> [UInt8]? {
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

    /// Decodes a text as ``decode(_:plusIsSpace:)`` does; `nil` also if the bytes are not UTF-8.
    public static func text(_ bytes: some Collection<UInt8>, plusIsSpace: Bool) -> String? {
        decode(bytes, plusIsSpace: plusIsSpace).flatMap { String(validating: $0, as: UTF8.self) }
    }

    @usableFromInline
    static func upperHexDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
    }
}

extension String {
    /// The text as a segment of a path, or a name or value of a query: everything but the unreserved characters of
    /// RFC 3986 is percent-encoded.
    public var percentEncoded: String {
        String(decoding: PercentEncoding.encode(self, keeping: .unreserved), as: UTF8.self)
    }
}
