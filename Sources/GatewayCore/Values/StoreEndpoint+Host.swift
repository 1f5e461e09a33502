import Signing

extension StoreEndpoint {
    /// Maximum length of an origin, in bytes: the scheme, a host of 253 bytes, a port, and a `/`.
    static let maxOriginBytes = "https://".utf8.count + maxHostBytes + ":65535/".utf8.count
    /// Maximum length of a host's name, in bytes (RFC 1035, section 2.3.4, as text without the dot of the root).
    static let maxHostBytes = 253

    /// Reads an origin, `http(s)://host[:port]`, that an admin states.
    ///
    /// Labels may have `_`, as container networks name hosts. A dot at the end is refused: no certificate names
    /// such a host, and comparisons of names would miss it.
    ///
    /// - Parameter field: JSON name of the field.
    /// - Throws: ``GatewayError/invalidArgument(field:reason:)`` for the field.
    init(origin text: String, _ field: String) throws(GatewayError) {
        try require(
            text.utf8.count <= Self.maxOriginBytes, field,
            "The endpoint must not exceed \(Self.maxOriginBytes) bytes.")
        let endpoint: StoreEndpoint
        do throws(SigningError) {
            endpoint = try StoreEndpoint(text)
        } catch {
            throw .invalidArgument(field: field, reason: error.detail)
        }
        try require(endpoint.path.isEmpty, field, "The endpoint must be 'http(s)://host[:port]', without a path.")
        try require(
            endpoint.host.utf8.count <= Self.maxHostBytes && endpoint.hasLabels, field,
            "The host must have at most 253 bytes, and 1 to 63 between its dots, where '-' neither begins nor ends.")
        self = endpoint
    }

    private var hasLabels: Bool {
        guard host.utf8.first != UInt8(ascii: "[") else { return true }
        let hyphen = UInt8(ascii: "-")
        return host.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).allSatisfy { label in
            1...63 ~= label.count && label.first != hyphen && label.last != hyphen
        }
    }
}
