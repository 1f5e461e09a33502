public import Bytes

extension JSONWriter {
    /// Writes a member whose name is a constant that needs no escaping. The `write` closure appends the value in its
    /// JSON form, using at most `room` bytes.
    @inlinable
    public mutating func member(
        _ name: StaticString, room: Int, _ write: (inout OutputSpan<UInt8>) -> Void
    ) {
        append(room: name.utf8CodeUnitCount + room + 3) { output in
            output.append(UInt8(ascii: "\""))
            output.append(copying: name)
            output.append(copying: "\":" as StaticString)
            write(&output)
        }
    }

    /// Writes a string member.
    public mutating func member(_ name: StaticString, _ text: String) {
        let text = QuotedText(text, escaping)
        member(name, room: text.room) { text.append(to: &$0) }
    }

    /// Writes a string member with any name.
    public mutating func member(named name: String, _ text: String) {
        let (name, text) = (QuotedText(name, escaping), QuotedText(text, escaping))
        append(room: name.room + text.room + 1) { output in
            name.append(to: &output)
            output.append(UInt8(ascii: ":"))
            text.append(to: &output)
        }
    }

    /// Writes a string member that needs no escaping. A URL, for example, contains neither quotes nor backslashes.
    public mutating func member(_ name: StaticString, verbatim text: String) {
        member(name, room: text.utf8.count + 2) { output in
            output.append(UInt8(ascii: "\""))
            output.append(copying: text)
            output.append(UInt8(ascii: "\""))
        }
    }

    /// Writes a string member; writes nothing if the text is `nil`.
    public mutating func member(_ name: StaticString, _ text: String?) {
        if let text { member(name, text) }
    }

    /// Writes an integer member.
    public mutating func member(_ name: StaticString, _ value: Int) {
        member(name, Int64(value))
    }

    /// Writes an integer member.
    public mutating func member(_ name: StaticString, _ value: Int64) {
        member(name, room: OutputSpan<UInt8>.decimalRoom) { $0.append(decimal: value) }
    }

    /// Writes a Boolean member.
    public mutating func member(_ name: StaticString, _ value: Bool) {
        member(name, room: 5) { $0.append(copying: value ? "true" : "false" as StaticString) }
    }

    /// Writes a member that is an array of strings.
    public mutating func member(_ name: StaticString, _ texts: [String]) {
        begin(name)
        strings(texts)
    }

    /// Writes a member that is an object; `members` writes its members.
    @inlinable
    public mutating func object(_ name: StaticString, _ members: (inout JSONWriter) -> Void) {
        begin(name)
        object(members)
    }

    /// Writes a member that is an array; `write` writes each item.
    @inlinable
    public mutating func array<Items: Sequence>(
        _ name: StaticString, _ items: Items, _ write: (inout JSONWriter, Items.Element) -> Void
    ) {
        begin(name)
        array(items, write)
    }

    /// Writes a member that is an array of objects; `members` writes those of each.
    @inlinable
    public mutating func objects<Items: Sequence>(
        _ name: StaticString, _ items: Items, _ members: (inout JSONWriter, Items.Element) -> Void
    ) {
        array(name, items) { json, item in
            json.object { members(&$0, item) }
        }
    }

    /// Writes the name of a member; its value is written next.
    @usableFromInline
    mutating func begin(_ name: StaticString) {
        member(name, room: 0) { _ in }
        needsComma = false
    }
}
