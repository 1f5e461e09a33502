public import Foundation
import LibCrypto

extension UUID {
    /// Bytes of its text.
    public static var textByteCount: Int { 36 }

    /// The text in lower case (RFC 9562, section 4). Foundation's own is in upper case and goes through a printf.
    public var lowercaseText: String {
        String(room: Self.textByteCount) { appendLowercaseText(to: &$0) }
    }

    /// Appends the text in lower case, for which there must be room.
    public func appendLowercaseText(to output: inout OutputSpan<UInt8>) {
        let id = uuid
        let bytes: InlineArray<16, UInt8> = [
            id.0, id.1, id.2, id.3, id.4, id.5, id.6, id.7, id.8, id.9, id.10, id.11, id.12, id.13, id.14, id.15,
        ]
        let span = bytes.span
        Hex.append(span.extracting(0..<4), to: &output)
        output.append(UInt8(ascii: "-"))
        Hex.append(span.extracting(4..<6), to: &output)
        output.append(UInt8(ascii: "-"))
        Hex.append(span.extracting(6..<8), to: &output)
        output.append(UInt8(ascii: "-"))
        Hex.append(span.extracting(8..<10), to: &output)
        output.append(UInt8(ascii: "-"))
        Hex.append(span.extracting(10..<16), to: &output)
    }
}
