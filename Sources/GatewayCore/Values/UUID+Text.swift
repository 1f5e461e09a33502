public import Foundation

extension UUID {
    /// The text in lower case (RFC 9562, section 4). Foundation's own is in upper case and goes through a printf.
    public var lowercaseText: String {
        let id = uuid
        let bytes: InlineArray<16, UInt8> = [
            id.0, id.1, id.2, id.3, id.4, id.5, id.6, id.7, id.8, id.9, id.10, id.11, id.12, id.13, id.14, id.15,
        ]
        var text = InlineArray<36, UInt8>(repeating: UInt8(ascii: "-"))
        var position = 0
        for index in bytes.indices {
            if index == 4 || index == 6 || index == 8 || index == 10 { position += 1 }
            text[position] = Self.digit(bytes[index] >> 4)
            text[position + 1] = Self.digit(bytes[index] & 0x0f)
            position += 2
        }
        guard let ascii = try? UTF8Span(validating: text.span) else { return uuidString.lowercased() }
        return String(copying: ascii)
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }
}
