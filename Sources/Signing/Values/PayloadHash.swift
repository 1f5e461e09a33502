import Bytes
import LibCrypto

/// What a signature says about the body of a request.
public struct PayloadHash: Sendable, Hashable {
    /// The text that represents the body: 64 hexadecimal digits, or `UNSIGNED-PAYLOAD`.
    public let text: String

    /// The signature does not bind the body.
    public static let unsigned = PayloadHash(text: "UNSIGNED-PAYLOAD")

    /// Binds a body by its SHA-256.
    public init(of body: [UInt8]) {
        text = DigestAlgorithm.sha256.digest(of: body).hex
    }

    /// Binds a body by its SHA-256 in lower-case hexadecimal; `nil` for any other text.
    public init?(hex: String) {
        guard hex.consists(of: .lowerHexDigits, count: 64...64) else { return nil }
        text = hex
    }

    private init(text: String) {
        self.text = text
    }
}
