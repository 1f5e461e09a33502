import Bytes
public import GatewayCore
import LibCurl

/// The addresses that the gateway may connect to: public ones by https, and the operator's exceptions.
public struct OutboundPolicy: Sendable {
    private let origins: Set<Origin>
    private let networks: [IPNetwork]

    /// Makes a policy with exceptions.
    ///
    /// - Parameters:
    ///   - origins: Origins, `http://host[:port]` or `https://host[:port]`, that may have any address.
    ///   - networks: Blocks of addresses that are allowed by https although they are not public.
    /// - Throws: `invalidArgument` for an invalid origin.
    public init(origins: [String] = [], networks: [IPNetwork] = []) throws(GatewayError) {
        var read: Set<Origin> = []
        for text in origins {
            guard let origin = Origin(of: text), !text.dropFirst(8).contains("/"), !text.contains("?") else {
                throw .invalidArgument(
                    field: "origins", reason: "An origin is 'http://' or 'https://', a host and, where needed, a port.")
            }
            read.insert(origin)
        }
        self.origins = read
        self.networks = networks
    }

    /// The allowed addresses of an origin; `nil` if none is allowed.
    func addressCheck(for origin: Origin) -> (@Sendable (IPAddress) -> Bool)? {
        if origins.contains(origin) { return { _ in true } }
        guard origin.isSecure else { return nil }
        let networks = networks
        return { address in
            networks.contains { $0.contains(address) } || PublicAddresses.contain(address)
        }
    }
}

/// Scheme, host and port of a URL.
typealias Origin = HTTPTransfer.Origin

extension Origin {
    /// Reads the beginning of a URL; `nil` for a URL that is ambiguous.
    init?(of url: String) {
        let bytes = url.utf8
        guard bytes.count <= 8192, bytes.allSatisfy({ 0x21...0x7e ~= $0 && $0 != UInt8(ascii: "\\") }) else {
            return nil
        }
        let isSecure = bytes.starts(with: "https://".utf8)
        guard isSecure || bytes.starts(with: "http://".utf8) else { return nil }
        let rest = bytes.dropFirst(isSecure ? 8 : 7)
        let authority = rest.prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        guard let (host, port) = Self.split(Substring(authority)) else { return nil }
        self.init(isSecure: isSecure, host: host, port: port ?? (isSecure ? 443 : 80))
    }

    private static func split(_ authority: Substring) -> (host: String, port: Int?)? {
        var host = authority
        var port: Int?
        let end = authority.utf8.first == UInt8(ascii: "[") ? authority.lastIndex(of: "]") : nil
        if let colon = authority[(end ?? authority.startIndex)...].lastIndex(of: ":") {
            let digits = authority[authority.index(after: colon)...]
            guard digits.consists(of: .digits, count: 1...5), let number = Int(digits), 1...65_535 ~= number
            else { return nil }
            port = number
            host = authority[..<colon]
        }
        if end != nil {
            guard host.utf8.last == UInt8(ascii: "]"), IPAddress(host.dropFirst().dropLast()) != nil else { return nil }
        } else {
            guard host.consists(of: .alphanumeric.union("-._"), count: 1...253) else { return nil }
        }
        return (host.lowercased(), port)
    }
}

/// Addresses of hosts on the public internet, according to the IANA registries of special-purpose addresses.
enum PublicAddresses {
    private static let special = [
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
        "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24",
        "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3",
        // IPv6 within 2000::/3: Teredo, documentation, and 6to4, which can represent any IPv4 address.
        "2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20",
    ].compactMap(IPNetwork.init)
    private static let global = ["0.0.0.0/0", "2000::/3"].compactMap(IPNetwork.init)

    /// Whether an address is public. An IPv4 address mapped into IPv6 is treated as the IPv4 address.
    static func contain(_ address: IPAddress) -> Bool {
        global.contains { $0.contains(address) } && !special.contains { $0.contains(address) }
    }
}
