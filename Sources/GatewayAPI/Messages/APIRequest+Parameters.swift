import FoundationEssentials
import GatewayCore
import StrictJSON

extension APIRequest {
    /// Parses a query parameter. The error names the parameter.
    func parsed<Value>(
        _ name: String, _ parse: (String) throws(GatewayError) -> Value
    ) throws(GatewayError) -> Value? {
        guard let text = try query(name) else { return nil }
        do {
            return try parse(text)
        } catch .invalidArgument(_, let reason) {
            throw .invalidArgument(field: name, reason: reason)
        }
    }

    /// Reads a query parameter that is an instant.
    func instant(_ name: String) throws(GatewayError) -> Date? {
        try parsed(name) { text throws(GatewayError) in try Timestamp.instant(from: text) }
    }

    /// Reads a query parameter that is an identifier.
    func identifier(_ name: String) throws(GatewayError) -> UUID? {
        guard let text = try query(name) else { return nil }
        guard let id = UUID(uuidString: text) else {
            throw .invalidArgument(field: name, reason: "The value must be a UUID.")
        }
        return id
    }

    /// Reads a query parameter that is `true` or `false`; `false` where it is absent.
    func flag(_ name: String) throws(GatewayError) -> Bool {
        switch try query(name) {
        case nil, "false": false
        case "true": true
        default: throw .invalidArgument(field: name, reason: "The value must be 'true' or 'false'.")
        }
    }

    /// Reads a query parameter that is one of a fixed set of words.
    func word<Word: RawRepresentable & CaseIterable>(
        _ name: String, _ type: Word.Type
    ) throws(GatewayError) -> Word? where Word.RawValue == String {
        guard let text = try query(name) else { return nil }
        return try Self.word(text, of: name)
    }

    /// Reads a query parameter that lists words of a fixed set, separated by commas.
    func words<Word: RawRepresentable & CaseIterable & Hashable>(
        _ name: String, _ type: Word.Type
    ) throws(GatewayError) -> Set<Word> where Word.RawValue == String {
        guard let text = try query(name), !text.isEmpty else { return [] }
        var words: Set<Word> = []
        for piece in text.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
            words.insert(try Self.word(String(Substring(piece)), of: name))
        }
        return words
    }

    /// Reads a query parameter that lists actions, separated by commas; `nil` where it is absent.
    func actions(_ name: String) throws(GatewayError) -> Set<Action>? {
        guard let text = try query(name) else { return nil }
        var actions: Set<Action> = []
        for piece in text.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
            guard let action = try? Action(parsing: String(Substring(piece))) else {
                throw .invalidArgument(field: name, reason: "An action must be \(Action.words).")
            }
            actions.insert(action)
        }
        return actions
    }

    /// Reads a query parameter that is a number of seconds; 0, which no life may have, where it is not a number.
    func seconds(_ name: String) throws(GatewayError) -> Int? {
        guard let text = try query(name) else { return nil }
        return Int(text) ?? 0
    }

    private static func word<Word: RawRepresentable & CaseIterable>(
        _ text: String, of name: String
    ) throws(GatewayError) -> Word where Word.RawValue == String {
        guard let word = Word(rawValue: text) else {
            let words = Word.allCases.map { "'\($0.rawValue)'" }.joined(separator: ", ")
            throw .invalidArgument(field: name, reason: "The value must be one of \(words).")
        }
        return word
    }
}
