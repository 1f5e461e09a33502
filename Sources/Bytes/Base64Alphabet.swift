/// One of the alphabets of base64 (RFC 4648), with the coding that both share.
struct Base64Alphabet: Sendable {
    /// The alphabet of section 4.
    static let standard = Base64Alphabet("+/")
    /// The alphabet of section 5, for URLs and names of files.
    static let url = Base64Alphabet("-_")

    /// The characters of the values 0 to 63.
    private let characters: [UInt8]
    /// The value of each byte, or ``notInAlphabet``.
    private let values: [UInt8]

    private static let notInAlphabet: UInt8 = 0x80

    /// Makes the alphabet whose last two characters, in which the alphabets differ, are these.
    private init(_ last: String) {
        characters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789\(last)".utf8)
        var values = [UInt8](repeating: Self.notInAlphabet, count: 256)
        for (value, character) in characters.enumerated() { values[Int(character)] = UInt8(value) }
        self.values = values
    }

    /// Encodes bytes. The last group is filled with `padding` to four characters; without a padding it is left short.
    func encode(_ bytes: Span<UInt8>, padding: UInt8?) -> String {
        String(room: (bytes.count + 2) / 3 * 4) { append(bytes, padding: padding, to: &$0) }
    }

    /// Appends what ``encode(_:padding:)`` returns. The output needs room for it: four bytes for each three, begun or
    /// whole.
    func append(_ bytes: Span<UInt8>, padding: UInt8?, to output: inout OutputSpan<UInt8>) {
        let characters = characters.span
        func append(_ bits: UInt32, _ shift: UInt32) { output.append(characters[Int(bits >> shift & 0x3F)]) }
        var start = 0
        while start + 3 <= bytes.count {
            let bits = UInt32(bytes[start]) << 16 | UInt32(bytes[start + 1]) << 8 | UInt32(bytes[start + 2])
            append(bits, 18)
            append(bits, 12)
            append(bits, 6)
            append(bits, 0)
            start += 3
        }
        guard start < bytes.count else { return }
        let isLonger = start + 2 == bytes.count
        let bits = UInt32(bytes[start]) << 16 | (isLonger ? UInt32(bytes[start + 1]) << 8 : 0)
        append(bits, 18)
        append(bits, 12)
        if isLonger { append(bits, 6) }
        guard let padding else { return }
        output.append(padding)
        if !isLonger { output.append(padding) }
    }

    /// Decodes the first `count` characters of a text without padding; `nil` unless they are the canonical encoding of
    /// their bytes.
    func decode(_ text: Span<UInt8>, count: Int) -> [UInt8]? {
        // One character encodes six bits, less than a byte.
        guard count % 4 != 1 else { return nil }
        let values = values.span
        var flaws: UInt8 = 0
        func value(_ place: Int) -> UInt32 {
            let value = values[Int(text[place])]
            flaws |= value
            return UInt32(value)
        }
        let bytes = [UInt8](capacity: count / 4 * 3 + 2) { output in
            var start = 0
            while start + 4 <= count {
                let bits = value(start) << 18 | value(start + 1) << 12 | value(start + 2) << 6 | value(start + 3)
                output.append(UInt8(truncatingIfNeeded: bits >> 16))
                output.append(UInt8(truncatingIfNeeded: bits >> 8))
                output.append(UInt8(truncatingIfNeeded: bits))
                start += 4
            }
            guard start < count else { return }
            let isLonger = start + 3 == count
            let bits = value(start) << 18 | value(start + 1) << 12 | (isLonger ? value(start + 2) << 6 : 0)
            output.append(UInt8(truncatingIfNeeded: bits >> 16))
            if isLonger { output.append(UInt8(truncatingIfNeeded: bits >> 8)) }
            // The remaining bits are zeros; otherwise another text would decode to the same bytes.
            if bits & (isLonger ? 0xFF : 0xFFFF) != 0 { flaws |= Self.notInAlphabet }
        }
        return flaws & Self.notInAlphabet == 0 ? bytes : nil
    }
}
