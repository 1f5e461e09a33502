import Bytes

/// Values of header fields in the form that schemes sign.
enum HeaderValue {
    /// Whether a value fits into one line of a request.
    static func isSendable(_ value: String) -> Bool {
        isSendable(value.utf8Span.span)
    }

    private static func isSendable(_ bytes: Span<UInt8>) -> Bool {
        if bytes.isAbove(0x0D) { return true }
        for index in bytes.indices {
            if bytes[index] == 0x0A || bytes[index] == 0x0D || bytes[index] == 0 { return false }
        }
        return true
    }

    /// Appends a value without white space at its ends. With `collapsing`, each run of white space becomes one space,
    /// also inside quotes.
    ///
    /// - Returns: Whether the value can be sent.
    @discardableResult
    static func append(_ value: String, collapsing: Bool, to output: inout OutputSpan<UInt8>) -> Bool {
        let bytes = value.utf8Span.span
        if bytes.isAbove(UInt8(ascii: " ")) {
            output.append(copying: bytes)
            return true
        }
        appendWords(of: bytes, collapsing: collapsing, to: &output)
        return isSendable(bytes)
    }

    /// The value without white space at its ends. With `collapsing`, each run of white space becomes one space.
    static func canonical(_ value: String, collapsing: Bool) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(addingCapacity: value.utf8.count) { append(value, collapsing: collapsing, to: &$0) }
        return bytes
    }

    private static func appendWords(
        of bytes: Span<UInt8>, collapsing: Bool, to output: inout OutputSpan<UInt8>
    ) {
        var wordEnd: Int?
        for index in bytes.indices where !isBlank(bytes[index]) {
            if let wordEnd, wordEnd < index {
                if collapsing {
                    output.append(UInt8(ascii: " "))
                } else {
                    output.append(copying: bytes.extracting(wordEnd..<index))
                }
            }
            output.append(bytes[index])
            wordEnd = index + 1
        }
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
}
