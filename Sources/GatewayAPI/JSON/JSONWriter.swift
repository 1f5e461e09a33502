import Foundation
import GatewayCore
import LibCrypto

/// Appends JSON to bytes; commas and escapes are its business.
struct JSONWriter {
    /// What was written so far.
    private(set) var bytes: [UInt8] = []
    private var needsComma = false

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

    /// Writes a member's name, whatever it is; its value follows.
    mutating func name(_ name: String) {
        let name = QuotedText(name)
        append(room: name.room + 1) { output in
            name.append(to: &output)
            output.append(UInt8(ascii: ":"))
        }
        needsComma = false
    }

    /// Writes a member with a name of the API's own, in which nothing is to be escaped, and a value of at most so many bytes.
    private mutating func member(
        _ name: StaticString, room: Int, _ write: (inout OutputSpan<UInt8>) -> Void
    ) {
        append(room: name.utf8CodeUnitCount + room + 3) { output in
            output.append(UInt8(ascii: "\""))
            output.append(copying: name)
            output.append(copying: "\":")
            write(&output)
        }
    }

    /// Writes a string.
    mutating func string(_ text: String) {
        let text = QuotedText(text)
        append(room: text.room) { text.append(to: &$0) }
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
        append(room: text.utf8.count) { $0.append(copying: text) }
    }

    private mutating func separate() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        needsComma = false
    }

    /// Appends a value, or a member, that takes at most so many bytes.
    private mutating func append(room: Int, _ write: (inout OutputSpan<UInt8>) -> Void) {
        bytes.append(addingCapacity: room + 1) { output in
            if needsComma { output.append(UInt8(ascii: ",")) }
            write(&output)
        }
        needsComma = true
    }
}

/// A text as it stands in JSON: between quotes, with what must be escaped escaped.
private struct QuotedText {
    private let text: String
    /// Whether nothing in it is to be escaped, as in most.
    private let isPlain: Bool

    init(_ text: String) {
        self.text = text
        isPlain = text.isFree(ofControlsAnd: UInt8(ascii: "\""), UInt8(ascii: "\\"))
    }

    /// Room that suffices for it.
    var room: Int { (isPlain ? 1 : 6) * text.utf8.count + 2 }

    func append(to output: inout OutputSpan<UInt8>) {
        output.append(UInt8(ascii: "\""))
        if isPlain {
            output.append(copying: text)
        } else {
            for byte in text.utf8 { Self.escape(byte, to: &output) }
        }
        output.append(UInt8(ascii: "\""))
    }

    private static func escape(_ byte: UInt8, to output: inout OutputSpan<UInt8>) {
        switch byte {
        case UInt8(ascii: "\""): output.append(copying: #"\""#)
        case UInt8(ascii: "\\"): output.append(copying: #"\\"#)
        case 0x0a: output.append(copying: #"\n"#)
        case 0x0d: output.append(copying: #"\r"#)
        case 0x09: output.append(copying: #"\t"#)
        case 0..<0x20:
            output.append(copying: #"\u00"#)
            output.append(copying: Hex.encode([byte]))
        default: output.append(byte)
        }
    }
}

extension JSONWriter {
    /// Writes a member that is a string.
    mutating func member(_ name: StaticString, _ text: String) {
        let text = QuotedText(text)
        member(name, room: text.room) { text.append(to: &$0) }
    }

    /// Writes a member that is a string, under any name.
    mutating func member(named name: String, _ text: String) {
        self.name(name)
        string(text)
    }

    /// Writes a member that is a string in which nothing is to be escaped, as in a URL, which holds neither quotes nor
    /// backslashes.
    mutating func member(_ name: StaticString, verbatim text: String) {
        member(name, room: text.utf8.count + 2) { output in
            output.append(UInt8(ascii: "\""))
            output.append(copying: text)
            output.append(UInt8(ascii: "\""))
        }
    }

    /// Writes a member that is a string, unless there is none.
    mutating func member(_ name: StaticString, _ text: String?) {
        if let text { member(name, text) }
    }

    /// Writes a member that is an integer.
    mutating func member(_ name: StaticString, _ value: Int) {
        member(name, room: OutputSpan<UInt8>.decimalRoom) { $0.append(decimal: Int64(value)) }
    }

    /// Writes a member that is an integer.
    mutating func member(_ name: StaticString, _ value: Int64) {
        member(name, room: OutputSpan<UInt8>.decimalRoom) { $0.append(decimal: value) }
    }

    /// Writes a member that is a boolean.
    mutating func member(_ name: StaticString, _ value: Bool) {
        member(name, room: 5) { $0.append(copying: value ? "true" : "false" as StaticString) }
    }

    /// Writes a member that is an identifier, in lower case.
    mutating func member(_ name: StaticString, _ id: UUID) {
        member(name, room: UUID.textByteCount + 2) { output in
            output.append(UInt8(ascii: "\""))
            id.appendLowercaseText(to: &output)
            output.append(UInt8(ascii: "\""))
        }
    }

    /// Writes a member that is an instant, in UTC.
    mutating func member(_ name: StaticString, _ instant: Date?) {
        guard let instant else { return }
        member(name, room: Timestamp.room + 2) { output in
            output.append(UInt8(ascii: "\""))
            Timestamp.append(instant, to: &output)
            output.append(UInt8(ascii: "\""))
        }
    }

    /// Writes a member that is an array of strings.
    mutating func member(_ name: StaticString, _ texts: [String]) {
        self.name(name.description)
        array(texts) { $0.string($1) }
    }
}
