/// The text format of names, labels and numbers.
enum Exposition {
    /// A name of `[a-zA-Z_:][a-zA-Z0-9_:]*`; every other character becomes `_`.
    static func metricName(_ label: String) -> String {
        name(label, allowsColon: true)
    }

    /// `name="value",…` sorted by name, values escaped. Of several labels with the same name, the first one counts.
    static func labels(_ dimensions: [(String, String)]) -> String {
        var seen: Set<String> = []
        return
            dimensions
            .map { (name: name($0.0, allowsColon: false), value: $0.1) }
            .filter { seen.insert($0.name).inserted }
            .sorted { $0.name < $1.name }
            .map { "\($0.name)=\"\(escaped($0.value))\"" }
            .joined(separator: ",")
    }

    /// A number as Go's `ParseFloat` reads it; whole numbers have no fraction.
    static func number(_ value: Double) -> String {
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        if let whole = Int64(exactly: value), abs(value) < 1e15 { return String(whole) }
        return "\(value)"
    }

    private static func name(_ text: String, allowsColon: Bool) -> String {
        var name = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "a"..."z", "A"..."Z", "_": name.unicodeScalars.append(scalar)
            case ":" where allowsColon: name.unicodeScalars.append(scalar)
            case "0"..."9":
                if name.isEmpty { name = "_" }
                name.unicodeScalars.append(scalar)
            default: name += "_"
            }
        }
        return name.isEmpty ? "_" : name
    }

    private static func escaped(_ value: String) -> String {
        var text = ""
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\\": text += #"\\"#
            case "\"": text += #"\""#
            case "\n": text += #"\n"#
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text
    }
}
