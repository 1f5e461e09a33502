import Bytes

/// A canonical request of a "version 4" scheme from a client, parsed.
///
/// Parts are kept decoded only if their encoding is unique, so that writing them again yields the same bytes.
public struct ReceivedCanonicalRequest: Sendable, Hashable {
    /// Maximum length in bytes.
    public static let maxByteCount = 16_384

    /// Method in upper case.
    public let method: String
    /// The path, decoded.
    public let path: String
    /// The parameters of the query, decoded and sorted.
    public let query: [NamedValue]
    /// The headers, names in lower case and sorted.
    public let headers: [NamedValue]
    /// Names of the listed headers, sorted.
    public let headerNames: [String]
    /// What represents the body.
    public let payload: String

    let dialect: V4Dialect

    /// Parses a canonical request.
    ///
    /// - Parameters:
    ///   - text: The request as it was hashed.
    ///   - scope: Scope of the key that would sign, which gives the scheme.
    /// - Throws: ``StringToSignRefusal`` for anything that is not in the canonical form of its scheme.
    public init(_ text: String, scope: CredentialScope) throws(StringToSignRefusal) {
        guard text.utf8.count <= Self.maxByteCount else { throw .tooLong }
        let lineFeed = UInt8(ascii: "\n")
        guard !text.utf8.contains(where: { $0 < 0x20 && $0 != lineFeed || $0 == 0x7F }) else {
            throw .controlCharacter
        }
        let lines = text.utf8.split(separator: lineFeed, omittingEmptySubsequences: false)
            .map { String(Substring($0)) }
        guard lines.count >= 6, lines[lines.count - 3].isEmpty else { throw .invalidCanonicalRequest }
        dialect = scope.dialect
        method = lines[0]
        guard ["GET", "HEAD", "PUT", "POST", "DELETE"].contains(method) else { throw .methodNotAllowed }
        path = try Self.decode(lines[1].utf8, keeping: .unreservedAndSlash)
        query = try Self.query(lines[2], writesBareNames: scope.dialect.writesBareNames)
        headers = try HeaderLines(lines[3..<(lines.count - 3)], malformed: .invalidCanonicalRequest).headers
        headerNames =
            lines[lines.count - 2].isEmpty
            ? []
            : lines[lines.count - 2].utf8
                .split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false).map { String(Substring($0)) }
        payload = lines[lines.count - 1]
        let listed = headers.map(\.name).filter { scope.dialect.headerForm.lists($0) }
        guard listed == headerNames else { throw .invalidCanonicalRequest }
    }

    /// Whether the parameters are those of a listing.
    public var isListing: Bool { method == "GET" && query.contains { $0.name == "list-type" } }

    /// The canonical request, rewritten from its parts.
    public var text: String {
        var buffer = Array("\(method)\n".utf8)
        PercentEncoding.append(path, keeping: .unreservedAndSlash, to: &buffer)
        buffer.append(UInt8(ascii: "\n"))
        buffer += CanonicalQuery(query, writesBareNames: dialect.writesBareNames).bytes
        buffer.append(UInt8(ascii: "\n"))
        for header in headers { buffer += "\(header.name):\(header.value)\n".utf8 }
        buffer += "\n\(headerNames.joined(separator: ";"))\n\(payload)".utf8
        return String(decoding: buffer, as: UTF8.self)
    }

    /// Two requests are equal when scheme and text are.
    public static func == (left: ReceivedCanonicalRequest, right: ReceivedCanonicalRequest) -> Bool {
        left.dialect === right.dialect && left.text.isSameBytes(as: right.text)
    }

    /// Hashes the text.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(text)
    }

    /// Decodes a text, and refuses any encoding but the canonical one.
    private static func decode(
        _ encoded: some Collection<UInt8>, keeping kept: ByteSet
    ) throws(StringToSignRefusal) -> String {
        guard let text = PercentEncoding.text(encoded, plusIsSpace: false),
            PercentEncoding.encode(text, keeping: kept).elementsEqual(encoded)
        else { throw .invalidPath }
        return text
    }

    private static func query(_ line: String, writesBareNames: Bool) throws(StringToSignRefusal) -> [NamedValue] {
        guard !line.isEmpty else { return [] }
        var parameters: [NamedValue] = []
        var last: Substring.UTF8View?
        for piece in line.utf8.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false) {
            let sides = piece.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            let isBare = sides.count == 1
            guard !sides[0].isEmpty, isBare == (writesBareNames && (isBare || sides[1].isEmpty)) else {
                throw .invalidSubResources
            }
            // Names must be distinct and sorted.
            guard last.map({ $0.lexicographicallyPrecedes(sides[0]) }) ?? true else { throw .notAscending }
            last = sides[0]
            parameters.append(
                NamedValue(
                    try decode(sides[0], keeping: .unreserved),
                    isBare ? "" : try decode(sides[1], keeping: .unreserved)))
        }
        guard parameters.allSatisfy({ $0.name.utf8.allSatisfy { $0 < 0x80 } }) else { throw .invalidSubResources }
        return parameters
    }
}
