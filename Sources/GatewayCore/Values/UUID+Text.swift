public import FoundationEssentials
import Bytes

extension UUID {
    /// Number of bytes in the text form of a UUID.
    public static var textByteCount: Int { 36 }

    /// The text in lower case (RFC 9562, section 4). Foundation's own text is in upper case and uses printf.
    public var lowercaseText: String {
        String(room: Self.textByteCount) { appendLowercaseText(to: &$0) }
    }

    /// Appends the text in lower case. The output must have room for ``textByteCount`` bytes.
    public func appendLowercaseText(to output: inout OutputSpan<UInt8>) {
        let id = uuid
        Hex.append(Self.number(id.0, id.1) << 16 | Self.number(id.2, id.3), to: &output)
        output.append(UInt8(ascii: "-"))
        Hex.append(UInt16(Self.number(id.4, id.5)), to: &output)
        output.append(UInt8(ascii: "-"))
        Hex.append(UInt16(Self.number(id.6, id.7)), to: &output)
        output.append(UInt8(ascii: "-"))
        Hex.append(UInt16(Self.number(id.8, id.9)), to: &output)
        output.append(UInt8(ascii: "-"))
        Hex.append(UInt16(Self.number(id.10, id.11)), to: &output)
        Hex.append(Self.number(id.12, id.13) << 16 | Self.number(id.14, id.15), to: &output)
    }

    private static func number(_ high: UInt8, _ low: UInt8) -> UInt32 {
        UInt32(high) << 8 | UInt32(low)
    }
}
