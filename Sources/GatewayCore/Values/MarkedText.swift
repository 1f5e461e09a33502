import Bytes
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
///
/// The name is public and has 12 characters of `a-z0-9`. The secret is 256 random bits in base64url without padding.
public struct MarkedText<Marker: SecretMarker>: Sendable, CustomStringConvertible {
    /// Number of random bytes that a text is made from: 12 for the name, 32 for the secret part.
    public static var randomByteCount: Int { 44 }

    /// Public part: 12 characters of `a-z0-9`.
    public let name: String
    /// The whole text.
    public let text: Secret<String>

    /// Creates the text of a new secret.
    ///
    /// - Parameter randomBytes: ``randomByteCount`` unpredictable bytes. The result is `nil` for any other number of
    ///   bytes.
    public init?(randomBytes: [UInt8]) {
        guard randomBytes.count == Self.randomByteCount else { return nil }
        let alphabet = Array("abcdefghijklmnopqrstuvwxyz0123456789".utf8)
        // The name is not secret, so it does not matter that some characters occur slightly more often.
        name = String(decoding: randomBytes.prefix(12).map { alphabet[Int($0) % alphabet.count] }, as: UTF8.self)
        text = Secret(Marker.text + name + "_" + Base64URL.encode(Array(randomBytes.dropFirst(12))))
    }

    /// Reads a text; `nil` for text in another form, such as a JWT.
    public init?(parsing text: Secret<String>) {
        let utf8 = text.reveal().utf8
        let start = Marker.text.utf8.count
        guard utf8.count == start + 56, Self.isMarked(text) else { return nil }
        let bytes = utf8.span
        for index in start..<(start + 12) where !ByteSet.lowerAlphanumeric.contains(bytes[index]) { return nil }
        let base64URLMarks = SIMD4(UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "_"))
        guard bytes[start + 12] == UInt8(ascii: "_"),
            bytes.extracting(start..<bytes.count).isAlphanumeric(or: base64URLMarks)
        else { return nil }
        guard let name = try? UTF8Span(validating: bytes.extracting(start..<(start + 12))) else { return nil }
        self.name = String(copying: name)
        self.text = text
    }

    /// Whether a text begins with the marker.
    public static func isMarked(_ text: Secret<String>) -> Bool {
        let bytes = text.reveal().utf8.span
        let count = Marker.text.utf8.count
        return bytes.count >= count && Marker.text.isSameBytes(as: bytes.extracting(0..<count))
    }

    /// SHA-256 of the whole text, the form that is stored. The secret has 256 random bits, so it needs no slow hash.
    public var digest: Digest { DigestAlgorithm.sha256.digest(of: text.reveal()) }

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
}

extension MarkedText where Marker == EventSecretMarker {
    /// The digest as 32 bytes, the form that is stored.
    public var hash: [UInt8] { digest.bytes }

    /// Whether a text holds what looks like an event secret.
    static func isPart(of text: String) -> Bool { text.utf8.contains(Marker.text.utf8) }
}
