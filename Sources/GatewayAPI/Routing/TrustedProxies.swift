public import GatewayCore
import HTTPServing
import HTTPTypes

/// Works out where a request came from: the peer of the socket, or the address that trusted proxies report.
public struct TrustedProxies: Sendable {
    /// The header field in which the proxies write. Only one is ever read, since a proxy that writes one may pass on
    /// the other unchanged.
    public enum Field: Sendable {
        /// `X-Forwarded-For: client, proxy`.
        case xForwardedFor
        /// `Forwarded: for=client, for=proxy` (RFC 7239).
        case forwarded
    }

    private let networks: [IPNetwork]
    private let field: Field

    /// Trusts the proxies in the given networks. With none, the peer of the socket is the client.
    public init(networks: [IPNetwork] = [], field: Field = .xForwardedFor) {
        self.networks = networks
        self.field = field
    }

    /// Whether an address belongs to a trusted proxy.
    func trusts(_ address: IPAddress) -> Bool {
        networks.contains { $0.contains(address) }
    }

    /// The nearest address that is not a trusted proxy; `nil` where a proxy names no readable address.
    func source(of peer: IPAddress, _ headers: HeaderFields) -> IPAddress? {
        guard trusts(peer) else { return peer }
        var nearest = peer
        for hop in hops(in: headers).reversed() {
            guard let address = Self.address(hop) else { return nil }
            guard trusts(address) else { return address }
            nearest = address
        }
        return nearest
    }

    private func hops(in headers: HeaderFields) -> [Substring] {
        switch field {
        case .xForwardedFor:
            headers[values: .forwardedFor].flatMap { value in
                // Split by bytes: text that a client wrote must not swallow the comma that a proxy writes after it.
                value.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false).map { Substring($0) }
            }
        case .forwarded:
            headers[values: .forwarded].flatMap { Self.split($0[...], at: UInt8(ascii: ",")) ?? [""] }
                .map(Self.forParameter)
        }
    }

    /// The value of `for` in one element of `Forwarded`. It is empty, and so unreadable, where the element has no `for`
    /// or more than one.
    private static func forParameter(_ element: Substring) -> Substring {
        guard isASCII(element), let pairs = split(element, at: UInt8(ascii: ";")) else { return "" }
        let values = pairs.compactMap { pair -> Substring? in
            let parts = pair.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, parts[0].trimming(while: isBlank).lowercased() == "for" else { return nil }
            return parts[1].trimming(while: isBlank)
        }
        guard values.count == 1, let value = values.first else { return "" }
        guard value.hasPrefix("\"") else { return value }
        return value.count >= 2 && value.hasSuffix("\"") ? value.dropFirst().dropLast() : ""
    }

    /// Splits at a separator, except within quotes, where `\` escapes the next character. A client may open a quote to
    /// swallow what a proxy appends: if one stays open, the whole text is unreadable, and the result `nil`.
    private static func split(_ text: Substring, at separator: UInt8) -> [Substring]? {
        var isQuoted = false
        var isEscaped = false
        let pieces = text.utf8.split(omittingEmptySubsequences: false) { byte in
            if isEscaped {
                isEscaped = false
            } else if isQuoted, byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else if byte == UInt8(ascii: "\"") {
                isQuoted.toggle()
            }
            return byte == separator && !isQuoted
        }
        return isQuoted ? nil : pieces.map { Substring($0) }
    }

    /// Parses `192.0.2.1`, `192.0.2.1:4711`, `2001:db8::1`, `[2001:db8::1]` or `[2001:db8::1]:4711`.
    private static func address(_ text: Substring) -> IPAddress? {
        guard isASCII(text) else { return nil }
        let text = text.trimming(while: isBlank)
        if text.hasPrefix("[") {
            guard let end = text.firstIndex(of: "]") else { return nil }
            let rest = text[text.index(after: end)...]
            guard rest.isEmpty || rest.hasPrefix(":") else { return nil }
            return IPAddress(text[..<end].dropFirst())
        }
        let colons = text.indices.filter { text[$0] == ":" }
        return colons.count == 1 ? IPAddress(text[..<colons[0]]) : IPAddress(text)
    }

    private static func isASCII(_ text: Substring) -> Bool { text.utf8.allSatisfy { $0 < 0x80 } }

    private static func isBlank(_ character: Character) -> Bool {
        character == " " || character == "\t"
    }
}
