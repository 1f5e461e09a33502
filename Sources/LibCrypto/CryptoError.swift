/// Why a cryptographic operation was refused.
public enum CryptoError: Error, Sendable, Equatable {
    /// A key has another length than its cipher takes.
    case invalidKeyLength(expected: Int, actual: Int)
    /// Sealed bytes are shorter than nonce and tag together.
    case sealedBytesTooShort
    /// Sealed bytes, their associated data or the key are not those of the sealing.
    case authenticationFailed
    /// A private key cannot be read, is of another kind, too short, or made of numbers that do not fit together.
    case invalidPrivateKey
    /// A public key cannot be read, is of another kind, too short or too long.
    case invalidPublicKey
    /// The system gave no random bytes.
    case randomUnavailable
}
