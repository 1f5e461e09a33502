import Bytes
import FoundationEssentials
import GatewayCore

/// Reads the texts that occur in bodies, queries and filters. What an error calls the field means nothing: whoever asks
/// for a value names it, by ``GatewayError/naming(_:_:)``.
enum TextForm {
    /// Reads an identifier.
    static func uuid(_ text: String) throws(GatewayError) -> UUID {
        guard let id = UUID(uuidString: text) else { throw refusal("The value must be a UUID.") }
        return id
    }

    /// Reads one of a fixed set of words.
    static func word<Word: RawRepresentable & CaseIterable & Sendable>(
        _ text: String
    ) throws(GatewayError) -> Word where Word.RawValue == String {
        guard let word = Word(rawValue: text), word.rawValue.isSameBytes(as: text) else {
            let words = Word.allCases.map { "'\($0.rawValue)'" }.joined(separator: ", ")
            throw refusal("The value must be one of \(words).")
        }
        return word
    }

    /// Reads an action.
    static func action(_ text: String) throws(GatewayError) -> Action { try Action(parsing: text) }

    /// Reads a principal.
    static func principal(_ text: String) throws(GatewayError) -> Principal { try Principal(text) }

    /// Reads an instant, in the form of RFC 3339.
    static func instant(_ text: String) throws(GatewayError) -> Date { try Timestamp.instant(from: text) }

    /// Reads a share of a whole, from a hundredth to all of it.
    static func share(_ text: String) throws(GatewayError) -> Double {
        guard let share = Double(text), 0.01...1 ~= share else {
            throw refusal("The value must be a number from 0.01 to 1.")
        }
        return share
    }

    /// Reads `true` or `false`.
    static func flag(_ text: String) throws(GatewayError) -> Bool {
        switch text {
        case "true": true
        case "false": false
        default: throw refusal("The value must be 'true' or 'false'.")
        }
    }

    private static func refusal(_ reason: String) -> GatewayError { .invalidArgument(field: "", reason: reason) }
}
