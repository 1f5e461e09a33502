import FoundationEssentials
import GatewayCore
import LibCrypto
import LibPQ
import StrictJSON

// Values in rows were checked when the rows were created. A value that does not parse was written by another program,
// and no decision rests on it.

extension PostgresRow {
    /// Makes a value from the text of a column.
    static func parse<Value>(
        _ text: String, of column: Int, _ make: (String) throws(GatewayError) -> Value
    ) throws(PostgresError) -> Value {
        do throws(GatewayError) {
            return try make(text)
        } catch {
            throw .decoding(column: column, reason: "malformed \(Value.self)")
        }
    }

    /// Reads the next column, a text, and parses it.
    mutating func nextParsed<Value>(
        _ make: (String) throws(GatewayError) -> Value
    ) throws(PostgresError) -> Value {
        let column = place
        let text: String = try next()
        return try Self.parse(text, of: column, make)
    }

    /// Reads the next column, an array of texts, and parses each of them.
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

    /// Reads the next column, the bytes of a digest.
    mutating func nextDigest() throws(PostgresError) -> Digest {
        let column = place
        guard let digest = try nextDigestIfAny() else { throw .decoding(column: column, reason: "no digest") }
        return digest
    }

    /// Reads the next column, the bytes of a digest; `nil` for NULL.
    mutating func nextDigestIfAny() throws(PostgresError) -> Digest? {
        let column = place
        let bytes: [UInt8]? = try next()
        guard let bytes else { return nil }
        guard let digest = Digest(bytes) else { throw .decoding(column: column, reason: "malformed digest") }
        return digest
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

    /// Reads the next column, an array of words from a fixed set.
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

    /// Reads the next column: actions, separated by commas, of which a later version may know more. Returns `nil` if it
    /// is NULL.
    mutating func nextActions() throws(PostgresError) -> [String]? {
        try next(as: String?.self)?.utf8.split(separator: UInt8(ascii: ",")).map { String(Substring($0)) }
    }

    /// Reads the next column, JSON as text. Returns `nil` if it is NULL.
    ///
    /// - Parameter row: What errors call the row.
    mutating func nextJSON<Value: Codable>(in row: @autoclosure () -> String) throws(PostgresError) -> Value? {
        let column = place
        guard let json = try next(as: String?.self) else { return nil }
        return try Self.readJSON(json, of: column, in: row())
    }

    /// Reads a value from JSON.
    ///
    /// A member that the value does not have is an error. A later version wrote it, and it may limit what the row
    /// permits: a program that passed over it would permit more.
    ///
    /// - Parameter row: What errors call the row.
    static func readJSON<Value: Codable>(
        _ json: String, of column: Int, in row: @autoclosure () -> String
    ) throws(PostgresError) -> Value {
        guard let value = try? JSONDecoder().decode(Value.self, from: Data(json.utf8)),
            let known = try? JSONEncoder().encode(value), let read = try? JSONReader.read(Array(known)),
            let written = try? JSONReader.read(Array(json.utf8))
        else { throw .decoding(column: column, reason: "\(row()): malformed \(Value.self)") }
        if let name = written.firstMember(missingIn: read) {
            throw .decoding(column: column, reason: "\(row()): a member that this version does not know: \(name)")
        }
        return value
    }

    /// Reads the next columns, which come from a joined table. Returns `nil` if the join found no row.
    ///
    /// - Parameters:
    ///   - count: Number of columns. The first is never NULL in the table.
    ///   - read: Reads the columns.
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

extension JSONValue {
    /// The name of a member, at any depth, that another value lacks at the same place; `nil` if there is none. A member
    /// that is null counts as absent.
    fileprivate func firstMember(missingIn other: JSONValue) -> String? {
        switch (self, other) {
        case (.object(let members), _):
            for member in members where member.value != .null {
                guard let value = other[member.name] else { return member.name }
                if let name = member.value.firstMember(missingIn: value) { return name }
            }
        case (.array(let items), .array(let others)):
            for (item, other) in zip(items, others) {
                if let name = item.firstMember(missingIn: other) { return name }
            }
        default: break
        }
        return nil
    }
}
