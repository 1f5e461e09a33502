import Bytes

/// Selects which characters of a text are written as escapes.
public enum JSONEscaping: Sendable {
    /// Escapes only what RFC 8259 requires: quotes, backslashes, and the characters below U+0020. Tab, line feed and
    /// carriage return use their short forms.
    case least
    /// Like `least`, but also escapes what terminals obey: U+007F to U+009F, separators of lines and paragraphs, and
    /// marks that change the direction of text.
    case terminal
    /// Writes only visible ASCII and the space unescaped. Quotes and backslashes are escaped with a backslash, and all
    /// other characters as `\uXXXX` without short forms. Policies are signed in this form, because its bytes survive
    /// any transport and AWS accepts no character beyond Latin-1.
    case ascii
}

extension OutputSpan where Element == UInt8 {
    /// Appends a quoted text. The span must have room for it: six bytes for each UTF-8 byte of the text, and two more.
    public mutating func append(quoted text: String, escaping: JSONEscaping = .least) {
        QuotedText(text, escaping).append(to: &self)
    }
}

/// A text in its JSON form: quoted, with escapes where needed.
struct QuotedText {
    private let text: String
    private let escaping: JSONEscaping
    /// Whether nothing needs escaping, which is the usual case.
    private let isPlain: Bool

    init(_ text: String, _ escaping: JSONEscaping) {
        self.text = text
        self.escaping = escaping
        let isPlain = text.isFree(ofControlsAnd: UInt8(ascii: "\""), UInt8(ascii: "\\"))
        self.isPlain =
            switch escaping {
            case .least: isPlain
            case .terminal: isPlain && !text.unicodeScalars.contains(where: \.isObeyedByTerminals)
            case .ascii: isPlain && text.utf8Span.isKnownASCII && text.isFree(ofControlsAnd: 0x7f, 0x7f)
            }
    }

    /// Number of bytes that is always sufficient for the quoted text.
    var room: Int { (isPlain ? 1 : 6) * text.utf8.count + 2 }

    func append(to output: inout OutputSpan<UInt8>) {
        output.append(UInt8(ascii: "\""))
        if isPlain {
            output.append(copying: text)
        } else {
            switch escaping {
            case .least: for byte in text.utf8 { Self.escape(byte, to: &output) }
            case .terminal: for scalar in text.unicodeScalars { Self.escape(scalar, to: &output) }
            case .ascii: for unit in text.utf16 { Self.escape(unit, to: &output) }
            }
        }
        output.append(UInt8(ascii: "\""))
    }

    private static func escape(_ byte: UInt8, to output: inout OutputSpan<UInt8>) {
        switch byte {
        case UInt8(ascii: "\""): output.append(copying: #"\""#)
        case UInt8(ascii: "\\"): output.append(copying: #"\\"#)
        case 0x0a: output.append(copying: #"\n"#)
        case 0x0d: output.append(copying: #"\r"#)
        case 0x09: output.append(copying: #"\t"#)
        case 0..<0x20: append(number: UInt16(byte), to: &output)
        default: output.append(byte)
        }
    }

    private static func escape(_ scalar: Unicode.Scalar, to output: inout OutputSpan<UInt8>) {
        if scalar.value >= 0x7f, scalar.isObeyedByTerminals {
            append(number: UInt16(scalar.value), to: &output)
        } else {
            for byte in String(scalar).utf8 { escape(byte, to: &output) }
        }
    }

    private static func escape(_ unit: UInt16, to output: inout OutputSpan<UInt8>) {
        switch unit {
        case UInt16(UInt8(ascii: "\"")): output.append(copying: #"\""#)
        case UInt16(UInt8(ascii: "\\")): output.append(copying: #"\\"#)
        case 0x20..<0x7f: output.append(UInt8(unit))
        default: append(number: unit, to: &output)
        }
    }

    private static func append(number unit: UInt16, to output: inout OutputSpan<UInt8>) {
        output.append(copying: #"\u"#)
        Hex.append(unit, to: &output)
    }
}
