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

    private init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Reads a whole text.
    static func read(_ bytes: [UInt8]) throws(GatewayError) -> JSONValue {
        guard (try? UTF8Span(validating: bytes.span)) != nil else { throw flaw("The body is not UTF-8.") }
        var reader = JSONReader(bytes)
        let value = try reader.value()
        reader.skipWhitespace()
        guard reader.position == bytes.count else { throw reader.flawHere("Nothing may follow the JSON value") }
        return value
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

    private mutating func value() throws(GatewayError) -> JSONValue {
        skipWhitespace()
        switch next {
        case UInt8(ascii: "{"): return try nested { (reader) throws(GatewayError) in try reader.object() }
        case UInt8(ascii: "["): return try nested { (reader) throws(GatewayError) in try reader.array() }
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        case .some(UInt8(ascii: "-")), .some(UInt8(ascii: "0")...UInt8(ascii: "9")): return .number(try number())
        case .none: throw flawHere("The JSON text ends early")
        default: throw flawHere("A JSON value was expected")
        }
    }

    private mutating func nested(
        _ read: (inout JSONReader) throws(GatewayError) -> JSONValue
    ) throws(GatewayError) -> JSONValue {
        guard depth < Self.maxDepth else { throw flawHere("The JSON text is nested too deeply") }
        depth += 1
        position += 1
        let value = try read(&self)
        depth -= 1
        return value
    }

    private mutating func word(_ text: String, _ value: JSONValue) throws(GatewayError) -> JSONValue {
        guard bytes[position...].starts(with: text.utf8) else { throw flawHere("A JSON value was expected") }
        position += text.utf8.count
        return value
    }

    private mutating func object() throws(GatewayError) -> JSONValue {
        var members: [JSONValue.Member] = []
        var names: Set<String> = []
        skipWhitespace()
        if take(UInt8(ascii: "}")) { return .object([]) }
        repeat {
            skipWhitespace()
            guard next == UInt8(ascii: "\"") else { throw flawHere("A member's name was expected") }
            let name = try string()
            guard isNew(name, among: members, &names) else { throw flawHere("A member is named twice") }
            skipWhitespace()
            guard take(UInt8(ascii: ":")) else { throw flawHere("':' was expected") }
            members.append(JSONValue.Member(name: name, value: try value()))
            skipWhitespace()
        } while take(UInt8(ascii: ","))
        guard take(UInt8(ascii: "}")) else { throw flawHere("',' or '}' was expected") }
        return .object(members)
    }

    /// Whether no member has the name yet. Few are compared one by one; only many are worth a set.
    private func isNew(_ name: String, among members: [JSONValue.Member], _ names: inout Set<String>) -> Bool {
        guard members.count >= 16 else { return !members.contains { $0.name == name } }
        if names.isEmpty { names = Set(members.map(\.name)) }
        return names.insert(name).inserted
    }

    private mutating func array() throws(GatewayError) -> JSONValue {
        var items: [JSONValue] = []
        skipWhitespace()
        if take(UInt8(ascii: "]")) { return .array([]) }
        repeat {
            items.append(try value())
            skipWhitespace()
        } while take(UInt8(ascii: ","))
        guard take(UInt8(ascii: "]")) else { throw flawHere("',' or ']' was expected") }
        return .array(items)
    }

    private mutating func number() throws(GatewayError) -> String {
        let start = position
        _ = take(UInt8(ascii: "-"))
        if !take(UInt8(ascii: "0")) { try digits() }
        if take(UInt8(ascii: ".")) { try digits() }
        if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
            _ = take(UInt8(ascii: "+")) || take(UInt8(ascii: "-"))
            try digits()
        }
        return String(decoding: bytes[start..<position], as: UTF8.self)
    }

    private mutating func digits() throws(GatewayError) {
        let start = position
        while let byte = next, UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte { position += 1 }
        guard position > start else { throw flawHere("A digit was expected") }
    }

    private mutating func string() throws(GatewayError) -> String {
        position += 1
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
