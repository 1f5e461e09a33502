/// The headers that a signature binds, in the form in which "version 4" schemes sign them.
struct CanonicalHeaders {
    /// `name:value\n` for each, names in lower case, sorted, white space collapsed.
    private(set) var lines: [UInt8] = []
    /// The names joined by `;`.
    private(set) var names: [UInt8] = []
    /// What stands for the body: the value of the header that gives its hash, when that is bound.
    private(set) var payload = V4Dialect.unsignedPayload

    /// Takes headers whose names are in lower case, each once, in any order.
    init(_ headers: [(name: [UInt8], value: String)], dialect: V4Dialect) {
        names.reserveCapacity(128)
        lines.reserveCapacity(512)
        for header in headers.sorted(by: { $0.name.lexicographicallyPrecedes($1.name) }) {
            if header.name.elementsEqual(dialect.payloadHeader.utf8) { payload = header.value }
            if !names.isEmpty { names.append(UInt8(ascii: ";")) }
            names += header.name
            lines += header.name
            lines.append(UInt8(ascii: ":"))
            Self.appendCollapsed(header.value, to: &lines)
            lines.append(UInt8(ascii: "\n"))
        }
    }

    /// Appends a value without white space at its ends, and with one space for each run of it, also inside quotes.
    static func appendCollapsed(_ value: String, to buffer: inout [UInt8]) {
        let bytes = value.utf8Span.span
        buffer.append(addingCapacity: bytes.count) { output in
            var spacePending = false
            for index in bytes.indices {
                let byte = bytes[index]
                if byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") {
                    spacePending = !output.isEmpty
                } else {
                    if spacePending { output.append(UInt8(ascii: " ")) }
                    spacePending = false
                    output.append(byte)
                }
            }
        }
    }

    /// The name in lower case.
    ///
    /// - Throws: ``SigningError/invalidHeaderName(_:)`` unless it is a token of RFC 9110, section 5.6.2.
    static func lowerCased(_ name: String) throws(SigningError) -> [UInt8] {
        guard !name.isEmpty, name.utf8.allSatisfy(token.contains) else { throw .invalidHeaderName(name) }
        return name.utf8.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
    }

    private static let token = PercentEncoding.ByteSet(
        "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    )
}
