public import LibCrypto

/// The text of an API key as its owner holds it: `sluice_<prefix>_<secret>`.
public typealias APIKeyText = MarkedText<APIKeyMarker>

/// The text of a ticket as its owner puts it into a URL: `sluicet_<name>_<secret>`.
public typealias TicketText = MarkedText<TicketMarker>

/// The text of the secret with which a store authenticates its event notifications for a bucket:
/// `sluicee_<name>_<secret>`.
public typealias EventSecretText = MarkedText<EventSecretMarker>

/// The text of one of the gateway's own secrets, as its owner holds it: `<marker><name>_<secret>`. None of its
/// characters needs escaping in a URL.
public struct MarkedText<Marker: SecretMarker>: Sendable, CustomStringConvertible {
    private let secret: MarkedSecret

    /// Number of random bytes that a text is made from.
    public static var randomByteCount: Int { MarkedSecret.randomByteCount }

    /// Public part: 12 characters of `a-z0-9`.
    public var name: String { secret.name }
    /// The whole text.
    public var text: Secret<String> { secret.text }
    /// SHA-256 of the whole text.
    public var digest: Digest { secret.digest }

    /// Creates the text of a new secret.
    ///
    /// - Parameter randomBytes: ``randomByteCount`` unpredictable bytes. The result is `nil` for any other number of
    ///   bytes.
    public init?(randomBytes: [UInt8]) {
        guard let secret = MarkedSecret(marker: Marker.text, randomBytes: randomBytes) else { return nil }
        self.secret = secret
    }

    /// Reads a text; `nil` for text in another form, such as a JWT.
    public init?(parsing text: Secret<String>) {
        guard let secret = MarkedSecret(marker: Marker.text, parsing: text) else { return nil }
        self.secret = secret
    }

    /// The marker and the public part, without the secret.
    public var description: String { Marker.text + name + "_…" }
}

/// The beginning of a text, which tells what the text is for.
public protocol SecretMarker: Sendable {
    /// The characters.
    static var text: String { get }
}

/// The marker of API keys.
public enum APIKeyMarker: SecretMarker {
    /// The characters.
    public static let text = "sluice_"
}

/// The marker of tickets.
public enum TicketMarker: SecretMarker {
    /// The characters.
    public static let text = "sluicet_"
}

/// The marker of event secrets.
public enum EventSecretMarker: SecretMarker {
    /// The characters.
    public static let text = "sluicee_"
}

extension MarkedText where Marker == APIKeyMarker {
    /// The public part, by which a row of a key is found.
    public var prefix: String { name }

    /// Whether a text begins with the marker of API keys.
    public static func isMarked(_ text: Secret<String>) -> Bool {
        MarkedSecret.isMarked(text, Marker.text)
    }
}

extension MarkedText where Marker == EventSecretMarker {
    /// The digest as 32 bytes, the form that is stored.
    public var hash: [UInt8] { digest.bytes }

    /// Whether a text holds what looks like an event secret.
    static func isPart(of text: String) -> Bool { text.utf8.contains(Marker.text.utf8) }
}
