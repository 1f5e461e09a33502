import Bytes

/// The URL of a store: `http(s)://host[:port][/path]`.
public struct StoreEndpoint: Sendable, Hashable {
    /// `http` or `https`.
    public let scheme: String
    /// Host in lower case; an IPv6 address is in brackets.
    public let host: String
    /// Port; `nil` for the scheme's default.
    public let port: Int?
    /// Percent-encoded path that precedes the bucket: empty, or with a leading `/` and no trailing one.
    public let path: String

    /// Reads an endpoint.
    ///
    /// - Throws: ``SigningError/invalidEndpoint(_:)`` for any other scheme, and for credentials, a query, a fragment,
    ///   or an invalid host or port.
    public init(_ text: String) throws(SigningError) {
        let parts = text.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count >= 3, parts[1].isEmpty else { throw .invalidEndpoint("it does not begin with http(s)://") }
        scheme = String(parts[0].dropLast()).lowercased()
        let defaultPort: Int
        switch parts[0].lowercased() {
        case "http:": defaultPort = 80
        case "https:": defaultPort = 443
        default: throw .invalidEndpoint("its scheme is neither http nor https")
        }
        let authority = Self.splitPort(parts[2])
        host = authority.host.lowercased()
        guard Self.isHost(host) else { throw .invalidEndpoint("its host has characters that no host has, or none") }
        if let digits = authority.port {
            guard digits.utf8.allSatisfy(ByteSet.digits.contains), let number = Int(digits),
                (1...65_535).contains(number)
            else { throw .invalidEndpoint("its port is not a number from 1 to 65535") }
            port = number == defaultPort ? nil : number
        } else {
            port = nil
        }
        path = try Self.encodedPath(parts.count > 3 ? parts[3] : "")
    }

    /// Host, and port unless it is the scheme's default, as in the `Host` header.
    public var authority: String {
        port.map { "\(host):\($0)" } ?? host
    }

    /// Whether the host is an IP address, which a bucket's name cannot precede.
    public var isAddress: Bool {
        host.hasPrefix("[") || host.utf8.allSatisfy(ByteSet.digits.union(".").contains)
    }

    private static func splitPort(_ authority: Substring) -> (host: Substring, port: Substring?) {
        let searched =
            authority.hasPrefix("[") ? authority[(authority.firstIndex(of: "]") ?? authority.startIndex)...] : authority
        guard let colon = searched.firstIndex(of: ":") else { return (authority, nil) }
        return (authority[..<colon], authority[authority.index(after: colon)...])
    }

    private static func isHost(_ host: String) -> Bool {
        if host.hasPrefix("["), host.hasSuffix("]"), host.utf8.count > 2 {
            return host.utf8.dropFirst().dropLast().allSatisfy(ByteSet.lowerHexDigits.union(":.").contains)
        }
        return !host.isEmpty && host.utf8.allSatisfy(ByteSet.lowerAlphanumeric.union(".-_").contains)
    }

    private static func encodedPath(_ text: Substring) throws(SigningError) -> String {
        guard !text.utf8.contains(where: { "?#".utf8.contains($0) || $0 <= 0x20 }) else {
            throw .invalidEndpoint("it has a query, a fragment or white space")
        }
        guard let decoded = PercentEncoding.decode(text.utf8, plusIsSpace: false) else {
            throw .invalidEndpoint("its path has a % that two hexadecimal digits do not follow")
        }
        var encoded = Array("/".utf8)
        PercentEncoding.append(decoded.span, keeping: .unreservedAndSlash, to: &encoded)
        while encoded.last == UInt8(ascii: "/") { encoded.removeLast() }
        return String(decoding: encoded, as: UTF8.self)
    }
}
