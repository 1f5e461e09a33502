import Foundation
import GatewayCore

/// Appends JSON to bytes; commas and escapes are its business.
struct JSONWriter {
    /// What was written so far.
    private(set) var bytes: [UInt8] = []
    private var needsComma = false
    private static let hexDigits = Array("0123456789abcdef".utf8)

    /// Begins an empty text.
    init(capacity: Int = 512) {
        bytes.reserveCapacity(capacity)
    }

    /// Writes an object, the members of which `members` writes.
    mutating func object(_ members: (inout JSONWriter) -> Void) {
        separate()
        bytes.append(UInt8(ascii: "{"))
        needsComma = false
        members(&self)
        bytes.append(UInt8(ascii: "}"))
        needsComma = true
    }

    /// Writes an array, the items of which `write` writes one by one.
    mutating func array<Items: Sequence>(_ items: Items, _ write: (inout JSONWriter, Items.Element) -> Void) {
        separate()
        bytes.append(UInt8(ascii: "["))
        needsComma = false
        for item in items { write(&self, item) }
        bytes.append(UInt8(ascii: "]"))
        needsComma = true
    }

    /// Writes a member's name; its value follows.
    mutating func name(_ name: String) {
        separate()
        quote(name)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    /// Writes a string.
    mutating func string(_ text: String) {
        separate()
        quote(text)
        needsComma = true
    }

    /// Writes a string in which nothing is to be escaped, as in a URL, which holds neither quotes nor backslashes.
    mutating func verbatim(_ text: String) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        bytes.append(contentsOf: text.utf8)
        bytes.append(UInt8(ascii: "\""))
        needsComma = true
    }

    /// Writes an integer.
    mutating func integer(_ value: some BinaryInteger & Sendable) {
        literal(String(value))
    }

    /// Writes a boolean.
    mutating func bool(_ value: Bool) {
        literal(value ? "true" : "false")
    }

    /// Writes a value that was read before.
    mutating func value(_ value: JSONValue) {
        switch value {
        case .null: literal("null")
        case .bool(let flag): bool(flag)
        case .number(let digits): literal(digits)
        case .string(let text): string(text)
        case .array(let items): array(items) { $0.value($1) }
        case .object(let members):
            object { writer in
                for member in members {
                    writer.name(member.name)
                    writer.value(member.value)
                }
            }
        }
    }

    private mutating func literal(_ text: String) {
        separate()
        bytes.append(contentsOf: text.utf8)
        needsComma = true
    }

    private mutating func separate() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        needsComma = false
    }

    private mutating func quote(_ text: String) {
        bytes.append(UInt8(ascii: "\""))
        if Self.standsForItself(text) {
            bytes.append(contentsOf: text.utf8)
        } else {
            for byte in text.utf8 { escape(byte) }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    /// Whether nothing in a text is to be escaped, as in most.
    private static func standsForItself(_ text: String) -> Bool {
        let span = text.utf8Span.span
        for index in span.indices {
            let byte = span[index]
            if byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { return false }
        }
        return true
    }

    private mutating func escape(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""): bytes.append(contentsOf: #"\""#.utf8)
        case UInt8(ascii: "\\"): bytes.append(contentsOf: #"\\"#.utf8)
        case 0x0a: bytes.append(contentsOf: #"\n"#.utf8)
        case 0x0d: bytes.append(contentsOf: #"\r"#.utf8)
        case 0x09: bytes.append(contentsOf: #"\t"#.utf8)
        case 0..<0x20:
            bytes.append(contentsOf: #"\u00"#.utf8)
            bytes.append(Self.hexDigits[Int(byte >> 4)])
            bytes.append(Self.hexDigits[Int(byte & 15)])
        default: bytes.append(byte)
        }
    }
}

extension JSONWriter {
    /// Writes a member that is a string.
    mutating func member(_ name: String, _ text: String) {
        self.name(name)
        string(text)
    }

    /// Writes a member that is a string, unless there is none.
    mutating func member(_ name: String, _ text: String?) {
        if let text { member(name, text) }
    }

    /// Writes a member that is an integer.
    mutating func member(_ name: String, _ value: some BinaryInteger & Sendable) {
        self.name(name)
        integer(value)
    }

    /// Writes a member that is a boolean.
    mutating func member(_ name: String, _ value: Bool) {
        self.name(name)
        bool(value)
    }

    /// Writes a member that is an identifier, in lower case.
    mutating func member(_ name: String, _ id: UUID) {
        member(name, id.lowercaseText)
    }

    /// Writes a member that is an instant, in UTC.
    mutating func member(_ name: String, _ instant: Date?) {
        if let instant { member(name, Timestamp.text(of: instant)) }
    }

    /// Writes a member that is an array of strings.
    mutating func member(_ name: String, _ texts: [String]) {
        self.name(name)
        array(texts) { $0.string($1) }
    }
}
