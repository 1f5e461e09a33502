import Bytes

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
    public var visible: String { replacingObeyed { "\\u{\($0)}" } }

    /// A JSON text with the characters of its strings escaped that a terminal would obey. The value is the same. Its
    /// line breaks stay: no string of JSON contains one.
    public var visibleJSON: String {
        replacingObeyed(except: "\n") { "\\u" + String(repeating: "0", count: 4 - $0.count) + $0 }
    }

    /// - Parameters:
    ///   - kept: A character that stays all the same.
    ///   - escape: Makes an escape of a hexadecimal number, which has at most four digits.
    private func replacingObeyed(except kept: Unicode.Scalar? = nil, _ escape: (String) -> String) -> String {
        guard unicodeScalars.contains(where: \.isObeyedByTerminals) else { return self }
        var text = ""
        for scalar in unicodeScalars {
            if scalar.isObeyedByTerminals, scalar != kept {
                text += escape(String(scalar.value, radix: 16))
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
        return text
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
