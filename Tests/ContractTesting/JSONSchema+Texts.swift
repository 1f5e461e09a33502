import Foundation

extension JSONSchema {
    static func isOf(_ type: String, _ value: JSONNode) -> Bool {
        switch (type, value) {
        case ("null", .null), ("boolean", .bool), ("string", .string), ("array", .array), ("object", .object): true
        case ("number", .integer), ("number", .number): true
        case ("integer", .integer), ("integer", .number): value.integer != nil
        default: false
        }
    }

    static func areEqual(_ left: JSONNode, _ right: JSONNode) -> Bool {
        if let left = left.double, let right = right.double { return left == right }
        return left == right
    }

    /// Whether a regular expression of ECMA-262 matches somewhere in a text. In ECMA-262, `$` matches only the very end
    /// of the text, not before a final line break.
    static func matches(_ text: String, _ pattern: String) -> Bool {
        var pattern = pattern
        if pattern.hasSuffix("$"), !pattern.hasSuffix("\\$") { pattern = pattern.dropLast() + "\\z" }
        return text.range(of: pattern, options: .regularExpression) != nil
    }

    /// Every supported format.
    public static let formats: Set<String> = ["uuid", "date-time", "uri", "uri-reference", "int32", "int64"]

    /// Whether a text has a format; `false` for an unknown format.
    static func isInFormat(_ format: String, _ text: String) -> Bool {
        switch format {
        case "uuid":
            matches(text, "^[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$")
        case "date-time":
            matches(
                text, #"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})$"#)
        case "uri":
            matches(text, "^[A-Za-z][A-Za-z0-9+.-]*:[\\x21-\\x7e]+$") && URL(string: text) != nil
        case "uri-reference":
            matches(text, "^[\\x21-\\x7e]*$") && (text.isEmpty || URL(string: text) != nil)
        case "int32", "int64":
            // Formats of numbers do not apply to texts.
            true
        default:
            false
        }
    }
}
