extension Unicode.Scalar {
    /// Whether a terminal obeys the character instead of showing it. These are control characters, separators of lines
    /// and paragraphs, and marks that change the direction of text.
    public var isObeyedByTerminals: Bool {
        switch value {
        case 0..<0x20, 0x7f..<0xa0, 0x2028...0x202e, 0x2066...0x2069: true
        default: false
        }
    }
}
