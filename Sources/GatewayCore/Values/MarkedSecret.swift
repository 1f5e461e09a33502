import Bytes
import LibCrypto

/// The text form of the gateway's own secrets, as their owners hold them: `<marker><name>_<secret>`.
///
/// The name is public and has 12 characters of `a-z0-9`. The secret is 256 random bits in base64url without padding.
struct MarkedSecret: Sendable {
    /// Number of random bytes that a secret is made from: 12 for the name, 32 for the secret part.
    static let randomByteCount = 44

    /// Public part: 12 characters of `a-z0-9`.
    let name: String
    /// The whole text.
    let text: Secret<String>

    private static let alphabet = Array("abcdefghijklmnopqrstuvwxyz0123456789".utf8)

    /// Creates a new secret; `nil` unless there are ``randomByteCount`` bytes.
    init?(marker: String, randomBytes: [UInt8]) {
        guard randomBytes.count == Self.randomByteCount else { return nil }
        // The name is not secret, so it does not matter that some characters occur slightly more often.
        let name = randomBytes.prefix(12).map { Self.alphabet[Int($0) % Self.alphabet.count] }
        self.name = String(decoding: name, as: UTF8.self)
        text = Secret(marker + self.name + "_" + Base64URL.encode(Array(randomBytes.dropFirst(12))))
    }

    /// Reads a secret; `nil` for text in another form.
    init?(marker: String, parsing text: Secret<String>) {
        let utf8 = text.reveal().utf8
        let start = marker.utf8.count
        guard utf8.count == start + 56, Self.isMarked(text, marker) else { return nil }
        let bytes = utf8.span
        for index in start..<(start + 12) where !ByteSet.lowerAlphanumeric.contains(bytes[index]) { return nil }
        guard bytes[start + 12] == UInt8(ascii: "_"),
            bytes.extracting(start..<bytes.count).isAlphanumeric(or: Self.base64URLMarks)
        else { return nil }
        guard let name = try? UTF8Span(validating: bytes.extracting(start..<(start + 12))) else { return nil }
        self.name = String(copying: name)
        self.text = text
    }

    /// Whether a text begins with a marker.
    static func isMarked(_ text: Secret<String>, _ marker: String) -> Bool {
        let bytes = text.reveal().utf8.span
        let count = marker.utf8.count
        return bytes.count >= count && marker.isSameBytes(as: bytes.extracting(0..<count))
    }

    /// SHA-256 of the whole text, the form that is stored.
    ///
    /// The secret has 256 random bits, so it needs no slow hash.
    var digest: Digest { DigestAlgorithm.sha256.digest(of: text.reveal()) }

    private static let base64URLMarks = SIMD4(
        UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "_"))
}
