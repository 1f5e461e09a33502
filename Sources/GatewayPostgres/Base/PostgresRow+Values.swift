import Foundation
import GatewayCore
import LibPQ

// Rows hold what was checked when they were created. What does not parse was written by somebody else, and nothing is
// decided on it.

extension PostgresRow {
    /// Makes a value of the text of a column.
    static func parse<Value>(
        _ text: String, of column: Int, _ make: (String) throws(GatewayError) -> Value
    ) throws(PostgresError) -> Value {
        do throws(GatewayError) {
            return try make(text)
        } catch {
            throw .decoding(column: column, reason: "malformed \(Value.self)")
        }
    }

    /// Reads the next column, a text, as a value that is made of it.
    mutating func nextParsed<Value>(
        _ make: (String) throws(GatewayError) -> Value
    ) throws(PostgresError) -> Value {
        let column = place
        let text: String = try next()
        return try Self.parse(text, of: column, make)
    }

    /// Reads the next column, an array of texts, as the values that are made of them.
    mutating func nextList<Element>(
        _ make: (String) throws(GatewayError) -> Element
    ) throws(PostgresError) -> [Element] {
        let column = place
        let texts: [String] = try next()
        var list: [Element] = []
        list.reserveCapacity(texts.count)
        for text in texts { list.append(try Self.parse(text, of: column, make)) }
        return list
    }

    /// Reads the next column, which holds one of a fixed set of words.
    mutating func nextWord<Word: RawRepresentable>() throws(PostgresError) -> Word where Word.RawValue == String {
        let column = place
        let text: String = try next()
        guard let word = Word(rawValue: text) else {
            throw .decoding(column: column, reason: "malformed \(Word.self)")
        }
        return word
    }

    /// Reads the next column, an array of words of a fixed set.
    mutating func nextWords<Word: RawRepresentable>() throws(PostgresError) -> [Word] where Word.RawValue == String {
        let column = place
        let texts: [String] = try next()
        var words: [Word] = []
        for text in texts {
            guard let word = Word(rawValue: text) else {
                throw .decoding(column: column, reason: "malformed \(Word.self)")
            }
            words.append(word)
        }
        return words
    }

    /// Reads the next column, JSON as text; `nil` where it is NULL.
    mutating func nextJSON<Value: Decodable>() throws(PostgresError) -> Value? {
        let column = place
        guard let json = try next(as: String?.self) else { return nil }
        guard let value = try? JSONDecoder().decode(Value.self, from: Data(json.utf8)) else {
            throw .decoding(column: column, reason: "malformed \(Value.self)")
        }
        return value
    }

    /// Reads the next columns, those of a joined table; `nil` where nothing was found for it.
    ///
    /// - Parameters:
    ///   - count: How many columns there are; the first is never NULL in the table.
    ///   - read: Reads them.
    mutating func nextJoined<Value>(
        _ count: Int, _ read: (inout PostgresRow) throws(PostgresError) -> Value
    ) throws(PostgresError) -> Value? {
        guard !isNextNull else {
            skip(count)
            return nil
        }
        let end = place + count
        let value = try read(&self)
        guard place == end else {
            throw .decoding(column: place, reason: "not the columns that were selected for the table")
        }
        return value
    }
}
