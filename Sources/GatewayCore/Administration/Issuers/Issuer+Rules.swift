import Bytes
import StrictJSON

extension Issuer: ValidatedRow {
    /// Signature algorithms with a private key.
    public static let asymmetricAlgorithms: Set<String> = [
        "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA",
    ]
    /// Signature algorithms with a shared secret.
    public static let secretAlgorithms: Set<String> = ["HS256"]

    /// Validates an issuer before it is created.
    ///
    /// An issuer uses either a shared secret or public keys, never both. Otherwise anyone who knows a public key could
    /// use its text as the secret.
    /// - Throws: ``GatewayError/invalidArgument(field:reason:)`` with the field's JSON name.
    public func validated() throws(GatewayError) -> Issuer {
        try require(issuer.isLine(1...512), "issuer", "The issuer must be one line of 1 to 512 bytes.")
        try require(
            1...16 ~= audiences.count && audiences.allSatisfy { $0.isLine(1...512) }, "audiences",
            "There must be 1 to 16 audiences, each one line of 1 to 512 bytes."
        )
        try checkAlgorithms()
        try checkKeys()
        for (field, prefix) in [("principalPrefix", principalPrefix), ("groupPrefix", groupPrefix)] {
            try require(prefix.isLine(0...128), field, "The prefix must be one line of at most 128 bytes.")
        }
        try checkClaims()
        try checkConsole()
        return self
    }

    private func checkAlgorithms() throws(GatewayError) {
        let isSecret = if case .secret = keys { true } else { false }
        let accepted = isSecret ? Self.secretAlgorithms : Self.asymmetricAlgorithms
        try require(
            !algorithms.isEmpty && Set(algorithms).count == algorithms.count
                && algorithms.allSatisfy(accepted.contains),
            "algorithms",
            "Keys of this kind allow only these algorithms: \(accepted.sorted().joined(separator: ", ")), each once."
        )
    }

    private func checkKeys() throws(GatewayError) {
        switch keys {
        case .url(let url):
            try require(
                Self.isDocumentURL(url), "keys.url",
                "The URL of a key set must begin with 'https://host[:port]', without a user name or password, and have at "
                    + "most 2,048 visible ASCII characters and no '\\'."
            )
        case .inline(let text):
            try require(1...65_536 ~= text.utf8.count, "keys.inline", "A key set must be 1 to 65,536 bytes of JSON.")
            try refusePrivateKeys(in: text)
        case .secret(let secret):
            // RFC 7518, section 3.2, requires a key at least as long as the hash.
            try require(
                32...1024 ~= secret.reveal().utf8.count, "keys.secret", "The secret must be 32 to 1,024 bytes."
            )
        }
    }

    /// The members that only private and shared keys have (RFC 7518, sections 6.2.2, 6.3.2 and 6.4.1).
    private static let privateMembers = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"]

    /// Every admin can read a key set, so a private key in it is no longer private.
    private func refusePrivateKeys(in text: String) throws(GatewayError) {
        guard let set = try? JSONReader.read(Array(text.utf8)), case .array(let keys)? = set["keys"] else { return }
        for (index, key) in keys.enumerated() {
            try require(
                !Self.privateMembers.contains { key[$0] != nil }, "keys.inline.keys[\(index)]",
                "The key has its private part. Send only the public part, and replace a key that others may have seen.")
        }
    }

    private func checkClaims() throws(GatewayError) {
        for (field, claim) in [
            ("subjectClaim", subjectClaim), ("groupsClaim", groupsClaim), ("rolesClaim", rolesClaim),
        ] {
            try require(
                claim?.isLine(1...128) ?? true, field,
                "The name of a claim must be one line of 1 to 128 bytes.")
        }
        let areUsable = usableClaims.allSatisfy {
            TemplateVariable(segment: "${claim:\($0)}"[...].utf8) == .claim($0)
        }
        try require(
            usableClaims.count <= 32 && areUsable, "usableClaims",
            "At most 32 claims are allowed, without 'sub'; their names must be 1 to 128 letters, digits and '.', '_', ':', '-'."
        )
        try require(roles.isEmpty || rolesClaim != nil, "rolesClaim", "'roles' requires 'rolesClaim'.")
        try require(
            roles.count <= Self.maxRoleRules, "roles", "At most \(Self.maxRoleRules) entries are allowed.")
        for (index, rule) in roles.enumerated() {
            try require(
                1...64 ~= rule.values.count && rule.values.allSatisfy { $0.rawValue.isLine(1...256) },
                "roles[\(index)].values", "There must be 1 to 64 values, each one line of 1 to 256 bytes.")
        }
    }

    /// Largest number of entries that say which values confer which role.
    public static let maxRoleRules = 64
}

extension Issuer {
    private func checkConsole() throws(GatewayError) {
        guard let console else { return }
        try require(
            console.clientID.isLine(1...512), "console.clientID", "The client must be one line of 1 to 512 bytes.")
        // The characters of a scope (RFC 6749, section 3.3).
        let areScopes = console.scopes.allSatisfy { scope in
            scope.consists(of: .visible, count: 1...128) && !scope.utf8.contains { "\"\\".utf8.contains($0) }
        }
        try require(
            1...32 ~= console.scopes.count && areScopes && Set(console.scopes).count == console.scopes.count,
            "console.scopes", "There must be 1 to 32 scopes of 1 to 128 visible ASCII characters, none of them twice."
        )
        // The console checks an ID token whatever it sends.
        try require(
            console.scopes.contains("openid"), "console.scopes",
            "The scopes must contain 'openid', or the issuer gives no ID token.")
        for (field, url) in [
            ("authorizationEndpoint", console.authorizationEndpoint), ("tokenEndpoint", console.tokenEndpoint),
        ] {
            try require(
                url.map(ConsoleSignIn.isEndpoint) ?? true, "console.\(field)",
                "An endpoint must be an https URL of visible ASCII characters without a fragment. Plain http is for loopback."
            )
        }
        let isShared = if case .secret = keys { true } else { false }
        try require(
            console.hasEndpoints || (discoveryURL != nil && !isShared), "console",
            "Both endpoints are required: the issuer's name is no URL that can be fetched, or its tokens have a shared secret."
        )
    }

    /// The URL of the discovery document (OpenID Connect Discovery, section 4); `nil` if the issuer's name is no URL
    /// that can be fetched.
    public var discoveryURL: String? { Self.discoveryURL(of: issuer) }

    /// The URL of the discovery document of the issuer with a name; `nil` if that is no URL that can
    /// be fetched.
    public static func discoveryURL(of name: String) -> String? {
        guard isDocumentURL(name) else { return nil }
        let bytes = name.utf8
        let base = bytes.last == UInt8(ascii: "/") ? bytes.dropLast() : bytes[...]
        return String(Substring(base)) + "/.well-known/openid-configuration"
    }

    /// Whether a document can be fetched from a URL: `http(s)://host[:port]` and no name or password before the host,
    /// which logs and answers would repeat, nor a `\`, which clients read in two ways.
    private static func isDocumentURL(_ url: String) -> Bool {
        WebOrigin(ofURL: url) != nil && !url.utf8.contains(UInt8(ascii: "\\"))
    }
}
