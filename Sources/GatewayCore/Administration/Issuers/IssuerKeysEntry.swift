/// The keys that an admin enters for an issuer.
public struct IssuerKeysEntry: Sendable {
    /// The URL of a key set.
    public var url: String?
    /// The text of a key set.
    public var inline: String?
    /// A shared secret.
    public var secret: Secret<String>?
    /// Whether the issuer keeps the secret that it has.
    public var keepsSecret: Bool

    /// Creates an entry.
    public init(url: String?, inline: String?, secret: Secret<String>?, keepsSecret: Bool) {
        self.url = url
        self.inline = inline
        self.secret = secret
        self.keepsSecret = keepsSecret
    }

    /// Returns the keys of the issuer.
    ///
    /// - Parameter old: The keys of the row that is changed, if there is one. A secret among them can be kept.
    /// - Throws: `invalidArgument` for `keys` unless exactly one kind was entered.
    public func keys(over old: Issuer.Keys?) throws(GatewayError) -> Issuer.Keys {
        var entered: [Issuer.Keys] = []
        if let url { entered.append(.url(url)) }
        if let inline { entered.append(.inline(inline)) }
        if let secret { entered.append(.secret(secret)) }
        if entered.isEmpty, keepsSecret, case .secret? = old { entered = old.map { [$0] } ?? [] }
        guard entered.count == 1, let keys = entered.first else {
            throw .invalidArgument(field: "keys", reason: "Send exactly one of 'url', 'inline' and 'secret'.")
        }
        return keys
    }
}
