import GatewayCore

/// Reads one JSON text (RFC 8259) where there is only one way to read it.
///
/// Refused are: bytes that are not UTF-8, more than 32 levels, members named twice, lone surrogates, U+0000, and anything
/// after the value. What two parsers might understand differently is an error here.
struct JSONReader {
    static let maxDepth = 32

    private let bytes: [UInt8]
    private var position = 0
    private var depth = 0
    private var places: [JSONText.Place] = []

    private init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Reads a whole text into one value.
    static func read(_ bytes: [UInt8]) throws(GatewayError) -> JSONValue {
        try JSONText(bytes).root.value
    }

    /// Finds the values of a whole text, each before those within it.
    static func places(in bytes: [UInt8]) throws(GatewayError) -> [JSONText.Place] {
        guard (try? UTF8Span(validating: bytes.span)) != nil, UInt32(exactly: bytes.count) != nil else {
            throw flaw("The body is not UTF-8.")
        }
        var reader = JSONReader(bytes)
        reader.places.reserveCapacity(32)
        try reader.value()
        reader.skipWhitespace()
        guard reader.position == bytes.count else { throw reader.flawHere("Nothing may follow the JSON value") }
        return reader.places
    }

    /// The characters of a string with escapes that was found before.
    static func text(in bytes: [UInt8], from start: Int) -> String {
        var reader = JSONReader(bytes)
        reader.position = start
        guard let text = try? reader.unescaped() else { preconditionFailure("What was found can be read.") }
        return text
    }

    private static func flaw(_ reason: String) -> GatewayError {
        .invalidArgument(field: "body", reason: reason)
    }

    private func flawHere(_ reason: String) -> GatewayError {
        Self.flaw("\(reason) (at byte \(position)).")
    }

    private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func skipWhitespace() {
        while let byte = next, byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 { position += 1 }
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard next == byte else { return false }
        position += 1
        return true
    }

    /// Notes a value that ends here and has nothing within it.
    private mutating func found(_ kind: JSONText.Place.Kind, from start: Int, to end: Int) {
        places.append(
            JSONText.Place(
                kind: kind, start: UInt32(truncatingIfNeeded: start), end: UInt32(truncatingIfNeeded: end),
                next: UInt32(truncatingIfNeeded: places.count + 1)))
    }

    private mutating func value() throws(GatewayError) {
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

    private mutating func begin(_ kind: JSONText.Place.Kind) throws(GatewayError) -> Int {
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

    private mutating func word(_ text: String, _ kind: JSONText.Place.Kind) throws(GatewayError) {
        guard bytes[position...].starts(with: text.utf8) else { throw flawHere("A JSON value was expected") }
        found(kind, from: position, to: position + text.utf8.count)
        position += text.utf8.count
    }

    /// Reads the members of an object, and counts them.
    private mutating func members() throws(GatewayError) -> Int {
        let first = places.count
        var count = 0
        var names: Set<String> = []
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

    /// Whether no member from a place on has a name yet. Few are compared one by one; only many are worth a set.
    private func isNew(_ name: Int, among first: Int, _ count: Int, _ names: inout Set<String>) -> Bool {
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
                names.insert(text(of: places[other]))
                other = Int(places[other + 1].next)
            }
        }
        return names.insert(text(of: places[name])).inserted
    }

    private func isSameName(_ left: Int, _ right: Int) -> Bool {
        let (left, right) = (places[left], places[right])
        guard left.kind == .plainString, right.kind == .plainString else { return text(of: left) == text(of: right) }
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

    private mutating func items() throws(GatewayError) {
        skipWhitespace()
        if take(UInt8(ascii: "]")) { return }
        repeat {
            try value()
            skipWhitespace()
        } while take(UInt8(ascii: ","))
        guard take(UInt8(ascii: "]")) else { throw flawHere("',' or ']' was expected") }
    }

    private mutating func number() throws(GatewayError) {
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

    private mutating func digits() throws(GatewayError) {
        let start = position
        while let byte = next, UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte { position += 1 }
        guard position > start else { throw flawHere("A digit was expected") }
    }
}

// MARK: Strings

extension JSONReader {
    private mutating func string() throws(GatewayError) {
        let start = position + 1
        let end = endOfPlain(from: start)
        if end < bytes.count, bytes[end] == UInt8(ascii: "\"") {
            position = end + 1
            return found(.plainString, from: start, to: end)
        }
        position = start
        _ = try unescaped()
        found(.string, from: start, to: position - 1)
    }

    /// The first byte that is no character of ASCII which stands for itself.
    private func endOfPlain(from start: Int) -> Int {
        let bytes = bytes.span
        var index = start
        while index < bytes.count {
            let byte = bytes[index]
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") || byte < 0x20 || byte >= 0x80 { break }
            index += 1
        }
        return index
    }

    /// Reads the rest of a string behind its quote.
    private mutating func unescaped() throws(GatewayError) -> String {
        var start = position
        var text = ""
        while let byte = next {
            switch byte {
            case UInt8(ascii: "\""):
                let tail = String(decoding: bytes[start..<position], as: UTF8.self)
                position += 1
                return text.isEmpty ? tail : text + tail
            case UInt8(ascii: "\\"):
                text += String(decoding: bytes[start..<position], as: UTF8.self)
                position += 1
                text.unicodeScalars.append(try escape())
                start = position
            case 0..<0x20:
                throw flawHere("A control character in a string must be escaped")
            default:
                position += 1
            }
        }
        throw flawHere("The JSON text ends early")
    }

    private mutating func escape() throws(GatewayError) -> Unicode.Scalar {
        guard let byte = next else { throw flawHere("The JSON text ends early") }
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
        case UInt8(ascii: "b"): return "\u{08}"
        case UInt8(ascii: "f"): return "\u{0c}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): return try escapedScalar()
        default: throw flawHere("An unknown escape")
        }
    }

    private mutating func escapedScalar() throws(GatewayError) -> Unicode.Scalar {
        let unit = try hexUnit()
        guard unit != 0 else { throw flawHere("U+0000 is not allowed") }
        if let scalar = Unicode.Scalar(unit) { return scalar }
        guard UTF16.isLeadSurrogate(UInt16(unit)), take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")),
            case let trail = try hexUnit(), UTF16.isTrailSurrogate(UInt16(trail)),
            let scalar = Unicode.Scalar(0x10000 + ((unit - 0xd800) << 10) + (trail - 0xdc00))
        else { throw flawHere("A surrogate stands alone") }
        return scalar
    }

    private mutating func hexUnit() throws(GatewayError) -> UInt32 {
        var unit: UInt32 = 0
        for _ in 0..<4 {
            guard let byte = next, let digit = Character(Unicode.Scalar(byte)).hexDigitValue else {
                throw flawHere("Four hexadecimal digits were expected")
            }
            unit = unit << 4 | UInt32(digit)
            position += 1
        }
        return unit
    }
}
