extension JSONWriter {
    /// The bytes written so far, formatted for people: one line per member and item, indented by two spaces per level.
    public var indentedBytes: [UInt8] {
        var lines: [UInt8] = []
        lines.reserveCapacity(2 * bytes.count)
        var depth = 0
        var isInText = false
        var isEscaped = false
        func endLine() {
            lines.append(UInt8(ascii: "\n"))
            lines.append(contentsOf: repeatElement(UInt8(ascii: " "), count: 2 * depth))
        }
        for (place, byte) in bytes.enumerated() {
            guard !isInText else {
                lines.append(byte)
                isInText = isEscaped || byte != UInt8(ascii: "\"")
                isEscaped = !isEscaped && byte == UInt8(ascii: "\\")
                continue
            }
            switch byte {
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                lines.append(byte)
                depth += 1
                if !isEnd(place + 1) { endLine() }
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                if !isBeginning(place - 1) { endLine() }
                lines.append(byte)
            case UInt8(ascii: ","):
                lines.append(byte)
                endLine()
            case UInt8(ascii: ":"):
                lines.append(byte)
                lines.append(UInt8(ascii: " "))
            default:
                lines.append(byte)
                isInText = byte == UInt8(ascii: "\"")
            }
        }
        return lines
    }

    private func isBeginning(_ place: Int) -> Bool {
        bytes[place] == UInt8(ascii: "{") || bytes[place] == UInt8(ascii: "[")
    }

    private func isEnd(_ place: Int) -> Bool {
        place < bytes.count && (bytes[place] == UInt8(ascii: "}") || bytes[place] == UInt8(ascii: "]"))
    }
}
