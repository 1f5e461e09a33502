import LibCrypto

/// The text of an API key as its owner holds it: `sluice_<prefix>_<secret>`.
public struct APIKeyText: Sendable, CustomStringConvertible {
    /// Random bytes that a key is made of: 12 for the prefix, 32 for the secret.
    public static let randomByteCount = 44

    /// The public part, 12 of `a-z0-9`.
    public let prefix: String
    /// The whole text.
    public let text: Secret<String>

    private static let marker = "sluice_"
    private static let prefixAlphabet = Array("abcdefghijklmnopqrstuvwxyz0123456789".utf8)

    /// Makes a key.
    ///
    /// - Parameter randomBytes: ``randomByteCount`` bytes that nobody can predict; `nil` for another number of them.
    public init?(randomBytes: [UInt8]) {
        guard randomBytes.count == Self.randomByteCount else { return nil }
        // The prefix is a name and no secret; that some characters come up a little more often does not matter.
        let name = randomBytes.prefix(12).map { Self.prefixAlphabet[Int($0) % Self.prefixAlphabet.count] }
        prefix = String(decoding: name, as: UTF8.self)
        let secret = Base64.encode(Array(randomBytes.dropFirst(12))).utf8.compactMap { byte -> UInt8? in
            switch byte {
            case UInt8(ascii: "+"): UInt8(ascii: "-")
            case UInt8(ascii: "/"): UInt8(ascii: "_")
            case UInt8(ascii: "="): nil
            default: byte
            }
        }
        text = Secret(Self.marker + prefix + "_" + String(decoding: secret, as: UTF8.self))
    }

    /// Reads a key; `nil` for a text of another form, such as a JWT.
    public init?(parsing text: Secret<String>) {
        let bytes = text.reveal().utf8
        guard bytes.count == 63, bytes.starts(with: Self.marker.utf8) else { return nil }
        let name = bytes.dropFirst(7).prefix(12)
        guard name.allSatisfy(Self.isPrefixByte),
            bytes.dropFirst(19).first == UInt8(ascii: "_"),
            bytes.dropFirst(20).allSatisfy(Self.isBase64URL)
        else { return nil }
        prefix = String(decoding: name, as: UTF8.self)
        self.text = text
    }

    /// SHA-256 of the whole text, 32 bytes: what is kept.
    ///
    /// The secret has 256 random bits, so no slow hash is needed.
    public var hash: [UInt8] {
        DigestAlgorithm.sha256.digest(of: Array(text.reveal().utf8)).bytes
    }

    /// The public part alone.
    public var description: String { Self.marker + prefix + "_…" }

    private static func isPrefixByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: false
        }
    }

    private static func isBase64URL(_ byte: UInt8) -> Bool {
        ASCII.isAlphanumeric(byte) || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
    }
}
