import Bytes

/// The text format of labels and numbers.
enum Exposition {
    /// `name="value",…` in the given order, values escaped.
    static func labels(_ labels: [(name: String, value: String)]) -> String {
        labels.map { "\($0.name)=\"\(escaped($0.value))\"" }.joined(separator: ",")
    }

    /// A number as Go's `ParseFloat` reads it; whole numbers have no fraction.
    static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        if let whole = Int64(exactly: value), abs(value) < 1e15 { return String(whole) }
        return "\(value)"
    }

    /// Whether a text may be the name of a metric: `[a-zA-Z_][a-zA-Z0-9_]*`.
    static func isName(_ text: String) -> Bool {
        guard let first = text.utf8.first, !ByteSet.digits.contains(first) else { return false }
        return text.utf8.allSatisfy(ByteSet.alphanumeric.union("_").contains)
    }

    /// The text of a HELP line, where only these two characters are escaped.
    static func help(_ text: String) -> String {
        replacing(text) { $0 == "\\" ? #"\\"# : $0 == "\n" ? #"\n"# : nil }
    }

    private static func escaped(_ value: String) -> String {
        guard value.utf8.contains(where: { $0 == 0x5c || $0 == 0x22 || $0 == 0x0a }) else { return value }
        return replacing(value) { $0 == "\\" ? #"\\"# : $0 == "\n" ? #"\n"# : $0 == "\"" ? #"\""# : nil }
    }

    private static func replacing(_ text: String, _ replacement: (Unicode.Scalar) -> String?) -> String {
        var replaced = ""
        for scalar in text.unicodeScalars {
            if let other = replacement(scalar) { replaced += other } else { replaced.unicodeScalars.append(scalar) }
        }
        return replaced
    }
}
