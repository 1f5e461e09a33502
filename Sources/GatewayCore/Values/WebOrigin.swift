import Bytes
import Signing

/// The origin of a URL as browsers write it: `scheme://host[:port]` in lower case, without the scheme's default port.
public struct WebOrigin: Hashable, Sendable {
    /// The origin.
    public let text: String
    /// Whether pages and answers of the origin travel safely: by https, or within the browser's own machine.
    public let isTrustworthy: Bool

    /// Reads an origin in any spelling: in capitals, with the default port, or with a slash at its end. `nil` for
    /// anything else.
    public init?(_ text: String) {
        guard let endpoint = try? StoreEndpoint(text), endpoint.path.isEmpty else { return nil }
        self.init(ofURL: "\(endpoint.scheme)://\(endpoint.authority)")
    }

    /// Reads the beginning of a URL; `nil` for a URL without an origin, or with one that has more than a host and a
    /// port.
    public init?(ofURL url: String) {
        guard url.consists(of: .visible, count: 8...2048) else { return nil }
        let bytes = url.utf8
        guard let start = ["https://", "http://"].first(where: { bytes.starts(with: $0.utf8) })?.utf8.count else {
            return nil
        }
        let end = bytes.dropFirst(start).firstIndex { "/?#\\".utf8.contains($0) } ?? bytes.endIndex
        guard let endpoint = try? StoreEndpoint(String(url[..<end])) else { return nil }
        text = "\(endpoint.scheme)://\(endpoint.authority)"
        isTrustworthy = endpoint.scheme == "https" || Self.isLoopback(endpoint.host)
    }

    private static func isLoopback(_ host: String) -> Bool {
        guard !["localhost", "[::1]"].contains(host) else { return true }
        guard let network = IPNetwork("127.0.0.0/8"), let address = IPAddress(host) else { return false }
        return network.contains(address)
    }
}
