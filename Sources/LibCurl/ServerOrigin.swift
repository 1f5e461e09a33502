import FoundationEssentials

/// The server that a user chose, as its URL names it.
public struct ServerOrigin: Sendable {
    /// The URL without slashes at its end. It may have a path, if a proxy serves the server below one.
    public let text: String
    /// Whether secrets would travel unencrypted to another machine.
    public let isInClear: Bool

    /// Reads an `http` or `https` URL without user, query and fragment. Returns `nil` for anything else.
    public init?(_ url: String) {
        guard let parts = URLComponents(string: url), let scheme = parts.scheme, ["http", "https"].contains(scheme),
            let host = parts.host, !host.isEmpty, parts.user == nil, parts.query == nil, parts.fragment == nil
        else { return nil }
        var text = url
        while text.hasSuffix("/") { text.removeLast() }
        self.text = text
        isInClear = scheme == "http" && !["127.0.0.1", "localhost", "::1", "[::1]"].contains(host)
    }
}
