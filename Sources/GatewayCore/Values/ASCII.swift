/// Classes of ASCII bytes.
enum ASCII {
    /// Whether a byte is a letter or digit.
    static func isAlphanumeric(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }

    /// Whether a byte may occur in a token (RFC 9110, section 5.6.2).
    static func isToken(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "!"), UInt8(ascii: "#")...UInt8(ascii: "'"), UInt8(ascii: "*"), UInt8(ascii: "+"),
            UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "^")...UInt8(ascii: "`"), UInt8(ascii: "|"),
            UInt8(ascii: "~"):
            true
        default: isAlphanumeric(byte)
        }
    }

    /// Returns a byte in lower case.
    static func lowercased(_ byte: UInt8) -> UInt8 {
        UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte ? byte | 0x20 : byte
    }

    /// Whether a text is valid as a header value: 1…1,024 visible characters and inner spaces.
    static func isHeaderValue(_ text: String) -> Bool {
        let bytes = text.utf8
        let space = UInt8(ascii: " ")
        return 1...1024 ~= bytes.count && bytes.first != space && bytes.last != space
            && bytes.allSatisfy { 0x20...0x7e ~= $0 }
    }
}
