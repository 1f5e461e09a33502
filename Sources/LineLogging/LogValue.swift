import Bytes
import Logging
import StrictJSON

/// The value of a field.
struct LogValue {
    /// The value as text; of a list or an object, its JSON.
    let text: String
    /// Whether a line of JSON has the text as it is: a number, `true`, `false`, a list or an object.
    let isJSON: Bool

    /// The fields whose values are numbers. A field has the same type in each line.
    static let numbers: Set<String> = [
        "allowed.s", "attempt", "connections", "count", "database.ahead.s", "delay.s", "duration.s", "duration.us",
        "failures", "limit", "migration", "port", "position", "position.before", "postgres.pid", "refusals",
        "requests.refused", "retry.s", "status",
    ]
    /// The fields whose values are `true` or `false`.
    static let booleans: Set<String> = ["tls"]

    /// Makes the value of a field with the given name.
    init(_ value: Logger.MetadataValue, of name: String) {
        switch value {
        case .array, .dictionary:
            var json = JSONWriter()
            Self.write(value, to: &json)
            text = String(decoding: json.bytes, as: UTF8.self)
            isJSON = true
        case .string, .stringConvertible:
            text = value.description
            isJSON =
                Self.numbers.contains(name) && Self.isNumber(text)
                || Self.booleans.contains(name) && Self.isBoolean(text)
        }
    }

    private static func write(_ value: Logger.MetadataValue, to json: inout JSONWriter) {
        switch value {
        case .array(let items): json.array(items) { write($1, to: &$0) }
        case .dictionary(let members):
            json.object { json in
                for (name, member) in members.sorted(by: { $0.key < $1.key }) {
                    json.name(name)
                    write(member, to: &json)
                }
            }
        case .string, .stringConvertible: json.string(value.description)
        }
    }

    /// Whether a text, which the program made from a number, is a number of JSON. Infinity is none.
    private static func isNumber(_ text: String) -> Bool {
        guard let first = text.utf8.first, first == UInt8(ascii: "-") || ByteSet.digits.contains(first) else {
            return false
        }
        return text.utf8.allSatisfy(numberBytes.contains)
    }

    private static let numberBytes = ByteSet.digits.union("-+.eE")

    private static func isBoolean(_ text: String) -> Bool { text == "true" || text == "false" }
}
