extension String {
    /// The number of columns that the text takes at a terminal.
    public var terminalWidth: Int { reduce(0) { $0 + ($1.isWide ? 2 : 1) } }

    /// The text with an ellipsis at its end, if it takes more columns than allowed.
    public func shortened(to columns: Int) -> String {
        guard terminalWidth > columns else { return self }
        var text = ""
        var left = columns - 1
        for character in self {
            left -= character.isWide ? 2 : 1
            if left < 0 { break }
            text.append(character)
        }
        return text + "…"
    }

    /// The text with control characters escaped, since a terminal would obey them.
    public var visible: String {
        guard unicodeScalars.contains(where: \.isObeyed) else { return self }
        var text = ""
        for scalar in unicodeScalars {
            if scalar.isObeyed {
                text += "\\u{\(String(scalar.value, radix: 16))}"
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
        return text
    }
}

extension Unicode.Scalar {
    /// Whether a terminal obeys the character. These are control characters, and marks that change the direction of
    /// text.
    fileprivate var isObeyed: Bool {
        switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        case .format: (0x202A...0x202E).contains(value) || (0x2066...0x2069).contains(value)
        default: false
        }
    }
}

extension Character {
    /// Whether the character takes two columns, as those of East Asian scripts and most pictures do.
    fileprivate var isWide: Bool {
        switch unicodeScalars.first?.value ?? 0 {
        case 0x1100...0x115F, 0x2E80...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60,
            0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F900...0x1F9FF, 0x20000...0x3FFFD:
            true
        default: false
        }
    }
}
