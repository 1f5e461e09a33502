public import LibCrypto

/// The text of an API key as its owner holds it: `sluice_<prefix>_<secret>`.
public struct APIKeyText: Sendable, CustomStringConvertible {
    /// Random bytes that a key is made of.
    public static let randomByteCount = MarkedSecret.randomByteCount

    private let secret: MarkedSecret
    private static let marker = "sluice_"

    /// The public part, 12 of `a-z0-9`.
    public var prefix: String { secret.name }
    /// The whole text.
    public var text: Secret<String> { secret.text }
    /// SHA-256 of the whole text.
    public var digest: Digest { secret.digest }
    /// That as 32 bytes: what is kept.
    public var hash: [UInt8] { digest.bytes }

    /// Makes a key.
    ///
    /// - Parameter randomBytes: ``randomByteCount`` bytes that nobody can predict; `nil` for another number of them.
    public init?(randomBytes: [UInt8]) {
        guard let secret = MarkedSecret(marker: Self.marker, randomBytes: randomBytes) else { return nil }
        self.secret = secret
    }

    /// Whether a text begins as all keys do.
    public static func isMarked(_ text: Secret<String>) -> Bool {
        MarkedSecret.isMarked(text, marker)
    }

    /// Reads a key; `nil` for a text of another form, such as a JWT.
    public init?(parsing text: Secret<String>) {
        guard let secret = MarkedSecret(marker: Self.marker, parsing: text) else { return nil }
        self.secret = secret
    }

    /// The public part alone.
    public var description: String { Self.marker + prefix + "_…" }
}

/// The text of a ticket as its owner puts it into a URL: `sluicet_<name>_<secret>`.
public struct TicketText: Sendable, CustomStringConvertible {
    /// Random bytes that a ticket is made of.
    public static let randomByteCount = MarkedSecret.randomByteCount

    private let secret: MarkedSecret
    private static let marker = "sluicet_"

    /// The public part, 12 of `a-z0-9`.
    public var name: String { secret.name }
    /// The whole text; every character of it may stand in a URL as it is.
    public var text: Secret<String> { secret.text }
    /// SHA-256 of the whole text.
    public var digest: Digest { secret.digest }
    /// That as 32 bytes: what is kept.
    public var hash: [UInt8] { digest.bytes }

    /// Makes a ticket's text.
    ///
    /// - Parameter randomBytes: ``randomByteCount`` bytes that nobody can predict; `nil` for another number of them.
    public init?(randomBytes: [UInt8]) {
        guard let secret = MarkedSecret(marker: Self.marker, randomBytes: randomBytes) else { return nil }
        self.secret = secret
    }

    /// Reads a ticket; `nil` for a text of another form.
    public init?(parsing text: Secret<String>) {
        guard let secret = MarkedSecret(marker: Self.marker, parsing: text) else { return nil }
        self.secret = secret
    }

    /// The public part alone.
    public var description: String { Self.marker + name + "_…" }
}

/// The text of what a store authenticates with when it tells of a bucket: `sluicee_<name>_<secret>`.
public struct EventSecretText: Sendable, CustomStringConvertible {
    /// Random bytes that one is made of.
    public static let randomByteCount = MarkedSecret.randomByteCount

    private let secret: MarkedSecret
    private static let marker = "sluicee_"

    /// The public part, 12 of `a-z0-9`.
    public var name: String { secret.name }
    /// The whole text; every character of it may stand in a URL as it is.
    public var text: Secret<String> { secret.text }
    /// SHA-256 of the whole text.
    public var digest: Digest { secret.digest }
    /// That as 32 bytes: what is kept.
    public var hash: [UInt8] { digest.bytes }

    /// Makes one; `nil` for another number of bytes than ``randomByteCount``.
    public init?(randomBytes: [UInt8]) {
        guard let secret = MarkedSecret(marker: Self.marker, randomBytes: randomBytes) else { return nil }
        self.secret = secret
    }

    /// Reads one; `nil` for a text of another form.
    public init?(parsing text: Secret<String>) {
        guard let secret = MarkedSecret(marker: Self.marker, parsing: text) else { return nil }
        self.secret = secret
    }

    /// The public part alone.
    public var description: String { Self.marker + name + "_…" }
}
