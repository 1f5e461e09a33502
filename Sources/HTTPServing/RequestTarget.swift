import Bytes

/// A request target in origin form (RFC 9112, 3.2.1), split into its parts and percent-decoded exactly once.
///
/// The path is split before it is decoded, so `%2F` is data within a segment and never separates segments. `.`, `..`
/// and empty segments stay as sent. A target that two readers could decode differently is refused; see
/// ``RequestTargetError``.
public struct RequestTarget: Sendable, Equatable {
    /// One `name=value` pair of the query, decoded; `value` is empty if there was no `=`.
    public struct QueryPair: Sendable, Equatable {
        /// The part before the first `=`.
        public var name: String
        /// The part after the first `=`.
        public var value: String

        /// Creates a pair from decoded strings.
        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    /// The path as sent, from its first `/`, without the query.
    public let rawPath: String
    /// The query as sent, without its `?`; `nil` if there is no `?`.
    public let rawQuery: String?
    /// The parts of the path between slashes, decoded: `/a/b` has `a` and `b`, `/a/` has `a` and an empty segment, and
    /// `/` has one empty segment.
    public let segments: [String]
    /// The pairs of the query, in the order sent. `+` is decoded as a space. Empty pieces between two `&` are left out.
    public let query: [QueryPair]

    /// Splits and decodes a raw target.
    ///
    /// - Parameter raw: The target from the request line.
    /// - Throws: ``RequestTargetError`` if the target is not a path, or cannot be decoded unambiguously.
    public init(_ raw: String) throws(RequestTargetError) {
        let bytes = Array(raw.utf8)
        guard bytes.first == UInt8(ascii: "/") else { throw .notAPath }
        let mark = bytes.firstIndex(of: UInt8(ascii: "?"))
        let path = bytes[..<(mark ?? bytes.endIndex)]

        var segments: [String] = []
        for segment in path.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
            segments.append(try percentDecoded(segment, plusIsSpace: false))
        }
        var query: [QueryPair] = []
        if let mark {
            for piece in bytes[(mark + 1)...].split(separator: UInt8(ascii: "&")) {
                let equals = piece.firstIndex(of: UInt8(ascii: "="))
                let name = try percentDecoded(piece[..<(equals ?? piece.endIndex)], plusIsSpace: true)
                let value = try equals.map { at throws(RequestTargetError) in
                    try percentDecoded(piece[(at + 1)...], plusIsSpace: true)
                }
                query.append(QueryPair(name: name, value: value ?? ""))
            }
        }
        self.rawPath = String(decoding: path, as: UTF8.self)
        self.rawQuery = mark.map { String(decoding: bytes[($0 + 1)...], as: UTF8.self) }
        self.segments = segments
        self.query = query
    }
}

/// Why a request target is refused.
public enum RequestTargetError: Error, Sendable, Equatable {
    /// The target does not start with `/`.
    case notAPath
    /// A `%` is not followed by two hexadecimal digits.
    case malformedEscape
    /// The target contains a control character, escaped or not, or a raw character that is not allowed.
    case forbiddenCharacter
    /// The decoded bytes are not UTF-8.
    case invalidUTF8
}

private func percentDecoded(_ bytes: ArraySlice<UInt8>, plusIsSpace: Bool) throws(RequestTargetError) -> String {
    // Most segments and values contain nothing to decode.
    if bytes.allSatisfy({ isPlain($0, plusIsSpace) }) { return String(decoding: bytes, as: UTF8.self) }
    var decoded: [UInt8] = []
    decoded.reserveCapacity(bytes.count)
    var index = bytes.startIndex
    while index < bytes.endIndex {
        var byte = bytes[index]
        if byte == UInt8(ascii: "%") {
            guard index + 2 < bytes.endIndex, let high = Hex.value(of: bytes[index + 1]),
                let low = Hex.value(of: bytes[index + 2])
            else { throw .malformedEscape }
            byte = high << 4 | low
            index += 3
            guard byte >= 0x20, byte != 0x7F else { throw .forbiddenCharacter }
        } else {
            guard byte > 0x20, byte < 0x7F, byte != UInt8(ascii: "#") else { throw .forbiddenCharacter }
            if plusIsSpace, byte == UInt8(ascii: "+") { byte = UInt8(ascii: " ") }
            index += 1
        }
        decoded.append(byte)
    }
    guard let text = String(validating: decoded, as: UTF8.self) else { throw .invalidUTF8 }
    return text
}

private func isPlain(_ byte: UInt8, _ plusIsSpace: Bool) -> Bool {
    switch byte {
    case UInt8(ascii: "%"), UInt8(ascii: "#"): false
    case UInt8(ascii: "+"): !plusIsSpace
    default: byte > 0x20 && byte < 0x7F
    }
}
