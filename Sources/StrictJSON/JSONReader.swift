import Bytes

/// Reads one JSON text (RFC 8259) and accepts it only if there is exactly one way to understand it.
///
/// The reader refuses bytes that are not UTF-8, more than 32 levels of nesting, duplicate member names, lone
/// surrogates, U+0000, which PostgreSQL cannot store, and anything after the value. Anything that two parsers might
/// understand differently is an error.
public struct JSONReader: Sendable {
    static let maxDepth = 32

    let bytes: [UInt8]
    var position = 0
    private var depth = 0
    private var places: [JSONText.Place] = []

    private init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Reads a whole text as one value.
    public static func read(_ bytes: [UInt8]) throws(JSONError) -> JSONValue {
        try JSONText(reading: bytes).root.value
    }

    /// Finds the places of all values in a text. The place of each value precedes those of the values inside it.
    static func places(in bytes: [UInt8]) throws(JSONError) -> [JSONText.Place] {
        guard (try? UTF8Span(validating: bytes.span)) != nil, UInt32(exactly: bytes.count) != nil else {
            throw .notUTF8
        }
        var reader = JSONReader(bytes)
        reader.places.reserveCapacity(32)
        try reader.value()
        reader.skipWhitespace()
        guard reader.position == bytes.count else { throw reader.flawHere("Nothing may follow the JSON value") }
        return reader.places
    }

    /// Decodes a string with escapes whose place was found before.
    static func text(in bytes: [UInt8], from start: Int) -> String {
        var reader = JSONReader(bytes)
        reader.position = start
        guard let text = try? reader.unescaped() else { preconditionFailure("What was found can be read.") }
        return text
    }

    func flawHere(_ flaw: String) -> JSONError {
        .malformed(flaw, at: position)
    }

    var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func skipWhitespace() {
        while let byte = next, byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 { position += 1 }
    }

    mutating func take(_ byte: UInt8) -> Bool {
        guard next == byte else { return false }
        position += 1
        return true
    }

    /// Adds the place of a value that ends here and contains no other values.
    mutating func found(_ kind: JSONText.Place.Kind, from start: Int, to end: Int) {
        places.append(
            JSONText.Place(
                kind: kind, start: UInt32(truncatingIfNeeded: start), end: UInt32(truncatingIfNeeded: end),
                next: UInt32(truncatingIfNeeded: places.count + 1)))
    }

    private mutating func value() throws(JSONError) {
        skipWhitespace()
        switch next {
        case UInt8(ascii: "{"):
            let place = try begin(.object)
            let count = try members()
            end(place, count: count)
        case UInt8(ascii: "["):
            let place = try begin(.array)
            try items()
            end(place, count: 0)
        case UInt8(ascii: "\""): try string()
        case UInt8(ascii: "t"): try word("true", .true)
        case UInt8(ascii: "f"): try word("false", .false)
        case UInt8(ascii: "n"): try word("null", .null)
        case .some(UInt8(ascii: "-")), .some(UInt8(ascii: "0")...UInt8(ascii: "9")): try number()
        case .none: throw flawHere("The JSON text ends early")
        default: throw flawHere("A JSON value was expected")
        }
    }

    private mutating func begin(_ kind: JSONText.Place.Kind) throws(JSONError) -> Int {
        guard depth < Self.maxDepth else { throw flawHere("The JSON text is nested too deeply") }
        depth += 1
        found(kind, from: position, to: 0)
        position += 1
        return places.count - 1
    }

    private mutating func end(_ place: Int, count: Int) {
        depth -= 1
        places[place].end = UInt32(truncatingIfNeeded: count)
        places[place].next = UInt32(truncatingIfNeeded: places.count)
    }

    private mutating func word(_ text: String, _ kind: JSONText.Place.Kind) throws(JSONError) {
        guard bytes[position...].starts(with: text.utf8) else { throw flawHere("A JSON value was expected") }
        found(kind, from: position, to: position + text.utf8.count)
        position += text.utf8.count
    }

    /// Reads the members of an object, and returns their number.
    private mutating func members() throws(JSONError) -> Int {
        let first = places.count
        var count = 0
        var names: Set<[UInt8]> = []
        skipWhitespace()
        if take(UInt8(ascii: "}")) { return 0 }
        repeat {
            skipWhitespace()
            guard next == UInt8(ascii: "\"") else { throw flawHere("A member's name was expected") }
            let name = places.count
            try string()
            guard isNew(name, among: first, count, &names) else { throw flawHere("A member is named twice") }
            skipWhitespace()
            guard take(UInt8(ascii: ":")) else { throw flawHere("':' was expected") }
            try value()
            count += 1
            skipWhitespace()
        } while take(UInt8(ascii: ","))
        guard take(UInt8(ascii: "}")) else { throw flawHere("',' or '}' was expected") }
        return count
    }

    /// Returns whether a member name differs from those of the earlier members. A few names are compared one by one; a
    /// set pays off only for many.
    private func isNew(_ name: Int, among first: Int, _ count: Int, _ names: inout Set<[UInt8]>) -> Bool {
        guard count >= 16 else {
            var other = first
            while other < name {
                if isSameName(other, name) { return false }
                other = Int(places[other + 1].next)
            }
            return true
        }
        if names.isEmpty {
            var other = first
            while other < name {
                names.insert(Array(text(of: places[other]).utf8))
                other = Int(places[other + 1].next)
            }
        }
        return names.insert(Array(text(of: places[name]).utf8)).inserted
    }

    private func isSameName(_ left: Int, _ right: Int) -> Bool {
        let (left, right) = (places[left], places[right])
        guard left.kind == .plainString, right.kind == .plainString else {
            return text(of: left).isSameBytes(as: text(of: right))
        }
        guard left.end - left.start == right.end - right.start else { return false }
        let (leftStart, rightStart) = (Int(left.start), Int(right.start))
        for index in 0..<(Int(left.end) - leftStart)
        where bytes[leftStart + index] != bytes[rightStart + index] {
            return false
        }
        return true
    }

    private func text(of place: JSONText.Place) -> String {
        Self.text(in: bytes, from: Int(place.start))
    }

    private mutating func items() throws(JSONError) {
        skipWhitespace()
        if take(UInt8(ascii: "]")) { return }
        repeat {
            try value()
            skipWhitespace()
        } while take(UInt8(ascii: ","))
        guard take(UInt8(ascii: "]")) else { throw flawHere("',' or ']' was expected") }
    }

    private mutating func number() throws(JSONError) {
        let start = position
        _ = take(UInt8(ascii: "-"))
        if !take(UInt8(ascii: "0")) { try digits() }
        if take(UInt8(ascii: ".")) { try digits() }
        if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
            _ = take(UInt8(ascii: "+")) || take(UInt8(ascii: "-"))
            try digits()
        }
        found(.number, from: start, to: position)
    }

    private mutating func digits() throws(JSONError) {
        let start = position
        while let byte = next, UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte { position += 1 }
        guard position > start else { throw flawHere("A digit was expected") }
    }
}
