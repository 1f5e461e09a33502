/// One of the alphabets of base64 (RFC 4648), with the coding that both share.
struct Base64Alphabet {
    /// The alphabet of section 4.
    static let standard = Base64Alphabet(UInt8(ascii: "+"), UInt8(ascii: "/"))
    /// The alphabet of section 5, for URLs and names of files.
    static let url = Base64Alphabet(UInt8(ascii: "-"), UInt8(ascii: "_"))

    /// The characters of 62 and 63, in which the alphabets differ.
    private let character62: UInt8
    private let character63: UInt8

    private init(_ character62: UInt8, _ character63: UInt8) {
        self.character62 = character62
        self.character63 = character63
    }

    /// Encodes bytes. The last group is filled with `padding` to four characters; without a padding it is left short.
    func encode(_ bytes: Span<UInt8>, padding: UInt8?) -> String {
        String(room: (bytes.count + 2) / 3 * 4) { output in
            for start in stride(from: 0, to: bytes.count, by: 3) {
                let count = min(3, bytes.count - start)
                var bits: UInt32 = 0
                for index in 0..<3 { bits = bits << 8 | (index < count ? UInt32(bytes[start + index]) : 0) }
                for position in 0...count {
                    output.append(character(of: UInt8(truncatingIfNeeded: bits >> UInt32(18 - 6 * position)) & 0x3F))
                }
                guard let padding else { continue }
                for _ in count..<3 { output.append(padding) }
            }
        }
    }

    /// Decodes the first `count` characters of a text without padding; `nil` unless they are the canonical encoding of
    /// their bytes.
    func decode(_ text: Span<UInt8>, count: Int) -> [UInt8]? {
        // One character encodes six bits, less than a byte.
        guard count % 4 != 1 else { return nil }
        var flaws: UInt32 = 0
        let bytes = [UInt8](capacity: count / 4 * 3 + 2) { output in
            for start in stride(from: 0, to: count, by: 4) {
                let end = min(start + 4, count)
                var bits: UInt32 = 0
                for index in start..<end {
                    let value = value(of: text[index])
                    flaws |= value
                    bits = bits << 6 | value & 0x3F
                }
                bits <<= UInt32(8 + 6 * (start + 4 - end))
                for _ in 1..<(end - start) {
                    output.append(UInt8(truncatingIfNeeded: bits >> 24))
                    bits <<= 8
                }
                // The remaining bits are zeros; otherwise another text would decode to the same bytes.
                if bits != 0 { flaws |= Self.notInAlphabet }
            }
        }
        return flaws & Self.notInAlphabet == 0 ? bytes : nil
    }

    private func character(of value: UInt8) -> UInt8 {
        switch value {
        case 0..<26: UInt8(ascii: "A") + value
        case 26..<52: UInt8(ascii: "a") + value - 26
        case 52..<62: UInt8(ascii: "0") + value - 52
        case 62: character62
        default: character63
        }
    }

    /// The value of a character, or ``notInAlphabet``.
    private func value(of character: UInt8) -> UInt32 {
        switch character {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(character - UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(character - UInt8(ascii: "a")) + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(character - UInt8(ascii: "0")) + 52
        case character62: 62
        case character63: 63
        default: Self.notInAlphabet
        }
    }

    private static let notInAlphabet: UInt32 = 1 << 31
}
