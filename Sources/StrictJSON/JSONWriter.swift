import Bytes

/// Writes JSON to a byte array, and takes care of commas and escapes.
///
/// Methods with a closure are inlinable: other modules write answers, and the compiler can inline their closures there.
public struct JSONWriter: Sendable {
    @usableFromInline var written: [UInt8] = []
    @usableFromInline var needsComma = false
    let escaping: JSONEscaping

    /// Creates an empty text.
    ///
    /// - Parameters:
    ///   - capacity: Number of bytes to reserve.
    ///   - escaping: The escaping of texts and names.
    public init(capacity: Int = 512, escaping: JSONEscaping = .least) {
        self.escaping = escaping
        written.reserveCapacity(capacity)
    }

    /// The bytes written so far.
    public var bytes: [UInt8] { written }

    /// Writes an object; `members` writes its members.
    @inlinable
    public mutating func object(_ members: (inout JSONWriter) -> Void) {
        begin(UInt8(ascii: "{"))
        members(&self)
        end(UInt8(ascii: "}"))
    }

    /// Writes an array; `items` writes its items.
    @inlinable
    public mutating func array(_ items: (inout JSONWriter) -> Void) {
        begin(UInt8(ascii: "["))
        items(&self)
        end(UInt8(ascii: "]"))
    }

    /// Writes an array; `write` writes each item.
    @inlinable
    public mutating func array<Items: Sequence>(
        _ items: Items, _ write: (inout JSONWriter, Items.Element) -> Void
    ) {
        begin(UInt8(ascii: "["))
        for item in items { write(&self, item) }
        end(UInt8(ascii: "]"))
    }

    /// Writes an array of strings.
    public mutating func strings(_ texts: [String]) {
        array(texts) { $0.string($1) }
    }

    /// Writes a member name, with escapes where needed; the caller writes the value next.
    public mutating func name(_ name: String) {
        let name = QuotedText(name, escaping)
        append(room: name.room + 1) { output in
            name.append(to: &output)
            output.append(UInt8(ascii: ":"))
        }
        needsComma = false
    }

    /// Writes a string.
    public mutating func string(_ text: String) {
        let text = QuotedText(text, escaping)
        append(room: text.room) { text.append(to: &$0) }
    }

    /// Writes an integer.
    public mutating func integer(_ value: some BinaryInteger & Sendable) {
        literal(String(value))
    }

    /// Writes a Boolean.
    public mutating func bool(_ value: Bool) {
        literal(value ? "true" : "false")
    }

    /// Writes a parsed value.
    public mutating func value(_ value: JSONValue) {
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

    /// Ends the line, so that another value can follow (NDJSON).
    public mutating func endLine() {
        written.append(UInt8(ascii: "\n"))
        needsComma = false
    }

    private mutating func literal(_ text: String) {
        append(room: text.utf8.count) { $0.append(copying: text) }
    }

    @usableFromInline
    mutating func begin(_ bracket: UInt8) {
        if needsComma { written.append(UInt8(ascii: ",")) }
        written.append(bracket)
        needsComma = false
    }

    @usableFromInline
    mutating func end(_ bracket: UInt8) {
        written.append(bracket)
        needsComma = true
    }

    /// Appends a value or a member that takes at most `room` bytes.
    @inlinable
    mutating func append(room: Int, _ write: (inout OutputSpan<UInt8>) -> Void) {
        written.append(addingCapacity: room + 1) { output in
            if needsComma { output.append(UInt8(ascii: ",")) }
            write(&output)
        }
        needsComma = true
    }
}
