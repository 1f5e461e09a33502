public import LibCrypto

/// The text of an API key as its owner holds it: `sluice_<prefix>_<secret>`.
public struct APIKeyText: Sendable, CustomStringConvertible {
    /// Number of random bytes that a key is made from.
    public static let randomByteCount = MarkedSecret.randomByteCount

    private let secret: MarkedSecret
    private static let marker = "sluice_"

    /// Public part: 12 characters of `a-z0-9`.
    public var prefix: String { secret.name }
    /// The whole text.
    public var text: Secret<String> { secret.text }
    /// SHA-256 of the whole text.
    public var digest: Digest { secret.digest }

    /// Creates a new key.
    ///
    /// - Parameter randomBytes: ``randomByteCount`` unpredictable bytes. The result is `nil` for any other number of
    ///   bytes.
    public init?(randomBytes: [UInt8]) {
        guard let secret = MarkedSecret(marker: Self.marker, randomBytes: randomBytes) else { return nil }
        self.secret = secret
    }

    /// Whether a text begins with the marker of API keys.
    public static func isMarked(_ text: Secret<String>) -> Bool {
        MarkedSecret.isMarked(text, marker)
    }

    /// Reads a key; `nil` for text in another form, such as a JWT.
    public init?(parsing text: Secret<String>) {
        guard let secret = MarkedSecret(marker: Self.marker, parsing: text) else { return nil }
        self.secret = secret
    }

    /// The marker and the public part, without the secret.
    public var description: String { Self.marker + prefix + "_…" }
}

/// The text of a ticket as its owner puts it into a URL: `sluicet_<name>_<secret>`.
public struct TicketText: Sendable, CustomStringConvertible {
    /// Number of random bytes that a ticket is made from.
    public static let randomByteCount = MarkedSecret.randomByteCount

    private let secret: MarkedSecret
    private static let marker = "sluicet_"

    /// Public part: 12 characters of `a-z0-9`.
    public var name: String { secret.name }
    /// The whole text. None of its characters needs escaping in a URL.
    public var text: Secret<String> { secret.text }
    /// SHA-256 of the whole text.
    public var digest: Digest { secret.digest }

    /// Creates the text of a new ticket.
    ///
    /// - Parameter randomBytes: ``randomByteCount`` unpredictable bytes. The result is `nil` for any other number of
    ///   bytes.
    public init?(randomBytes: [UInt8]) {
        guard let secret = MarkedSecret(marker: Self.marker, randomBytes: randomBytes) else { return nil }
        self.secret = secret
    }

    /// Reads a ticket; `nil` for text in another form.
    public init?(parsing text: Secret<String>) {
        guard let secret = MarkedSecret(marker: Self.marker, parsing: text) else { return nil }
        self.secret = secret
    }

    /// The marker and the public part, without the secret.
    public var description: String { Self.marker + name + "_…" }
}

/// The text of the secret with which a store authenticates its event notifications for a bucket:
/// `sluicee_<name>_<secret>`.
public struct EventSecretText: Sendable, CustomStringConvertible {
    /// Number of random bytes that an event secret is made from.
    public static let randomByteCount = MarkedSecret.randomByteCount

    private let secret: MarkedSecret
    private static let marker = "sluicee_"

    /// Public part: 12 characters of `a-z0-9`.
    public var name: String { secret.name }
    /// The whole text. None of its characters needs escaping in a URL.
    public var text: Secret<String> { secret.text }
    /// SHA-256 of the whole text.
    public var digest: Digest { secret.digest }
    /// The digest as 32 bytes, the form that is stored.
    public var hash: [UInt8] { digest.bytes }

    /// Creates a new event secret; `nil` unless there are ``randomByteCount`` bytes.
    public init?(randomBytes: [UInt8]) {
        guard let secret = MarkedSecret(marker: Self.marker, randomBytes: randomBytes) else { return nil }
        self.secret = secret
    }

    /// Reads an event secret; `nil` for text in another form.
    public init?(parsing text: Secret<String>) {
        guard let secret = MarkedSecret(marker: Self.marker, parsing: text) else { return nil }
        self.secret = secret
    }

    /// Whether a text holds what looks like an event secret.
    static func isPart(of text: String) -> Bool { text.utf8.contains(marker.utf8) }

    /// The marker and the public part, without the secret.
    public var description: String { Self.marker + name + "_…" }
}
