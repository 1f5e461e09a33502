/// The headers that a signature binds, in the form in which "version 4" schemes sign them.
struct CanonicalHeaders {
    /// `name:value\n` for each, names in lower case, sorted, values as the vendor trims them.
    private(set) var lines: [UInt8] = []
    /// The names that are written beside the signature, joined by `;`.
    private(set) var names: [UInt8] = []
    /// Where in the lines the hash of the body stands, when a header that gives it is bound.
    private var payloadRange: Range<Int>?

    /// Takes headers whose names are in lower case, each once, in any order.
    ///
    /// - Parameters:
    ///   - headers: The headers.
    ///   - payloadHeader: Name of the header that gives the hash of the body.
    ///   - collapsesWhiteSpace: Whether white space inside a value becomes one space.
    ///   - isNamed: Whether a name is written beside the signature.
    init(
        _ headers: [(name: [UInt8], value: String)],
        payloadHeader: String,
        collapsesWhiteSpace: Bool,
        isNamed: ([UInt8]) -> Bool
    ) {
        names.reserveCapacity(128)
        lines.reserveCapacity(512)
        for header in headers.sorted(by: { $0.name.lexicographicallyPrecedes($1.name) }) {
            if isNamed(header.name) {
                if !names.isEmpty { names.append(UInt8(ascii: ";")) }
                names += header.name
            }
            lines += header.name
            lines.append(UInt8(ascii: ":"))
            let start = lines.count
            if collapsesWhiteSpace {
                Self.appendCollapsed(header.value, to: &lines)
            } else {
                Self.appendTrimmed(header.value, to: &lines)
            }
            if header.name.elementsEqual(payloadHeader.utf8) { payloadRange = start..<lines.count }
            lines.append(UInt8(ascii: "\n"))
        }
    }

    /// Takes headers as a vendor of a "version 4" scheme writes them.
    init(_ headers: [(name: [UInt8], value: String)], dialect: V4Dialect) {
        self.init(
            headers, payloadHeader: dialect.payloadHeader, collapsesWhiteSpace: dialect.collapsesWhiteSpace,
            isNamed: { dialect.names($0) }
        )
    }

    /// What stands for the body: the value of the header that gives its hash, when that is bound.
    func appendPayload(to buffer: inout [UInt8]) {
        if let payloadRange {
            buffer += lines[payloadRange]
        } else {
            buffer += PayloadHash.unsigned.text.utf8
        }
    }

    /// Appends a value without white space at its ends.
    static func appendTrimmed(_ value: String, to buffer: inout [UInt8]) {
        func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        let trimmed = value.utf8.drop(while: isBlank)
        buffer += trimmed.prefix(
            upTo: trimmed.lastIndex { !isBlank($0) }.map { trimmed.index(after: $0) } ?? trimmed.startIndex)
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
    /// - Throws: ``SigningError/invalidHeaderName(_:)`` unless it is a token of RFC 9110, section 5.6.2. Google's conformance
    ///   tests want a slash in it signed as well.
    static func lowerCased(_ name: String, allowingSlash: Bool = false) throws(SigningError) -> [UInt8] {
        let allowed = allowingSlash ? tokenWithSlash : token
        guard !name.isEmpty, name.utf8.allSatisfy(allowed.contains) else { throw .invalidHeaderName(name) }
        return name.utf8.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
    }

    private static let tokenWithSlash = PercentEncoding.ByteSet(
        "!#$%&'*+-.^_`|~/0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    )
    private static let token = PercentEncoding.ByteSet(
        "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    )
}
