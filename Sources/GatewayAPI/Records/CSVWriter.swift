/// Writes comma-separated values (RFC 4180).
struct CSVWriter {
    /// What a spreadsheet might take for a formula.
    enum Formulas: Sendable {
        /// Is written unchanged, so that a file reads back as the same values.
        case unchanged
        /// Gets an apostrophe before it, as OWASP advises ("CSV Injection").
        case quoted
    }

    /// The bytes written so far.
    private(set) var bytes: [UInt8] = []
    private let formulas: Formulas

    /// Creates a writer.
    init(formulas: Formulas) {
        self.formulas = formulas
    }

    /// Writes a record.
    mutating func record(_ fields: [String]) {
        for (index, field) in fields.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            write(formulas == .quoted && Self.isFormula(field) ? "'" + field : field)
        }
        bytes.append(contentsOf: "\r\n".utf8)
    }

    private static func isFormula(_ field: String) -> Bool {
        field.utf8.first.map { "=+-@\t\r".utf8.contains($0) } ?? false
    }

    private mutating func write(_ field: String) {
        guard field.utf8.contains(where: { "\",\r\n".utf8.contains($0) }) else {
            return bytes.append(contentsOf: field.utf8)
        }
        bytes.append(UInt8(ascii: "\""))
        for byte in field.utf8 {
            if byte == UInt8(ascii: "\"") { bytes.append(byte) }
            bytes.append(byte)
        }
        bytes.append(UInt8(ascii: "\""))
    }
}
