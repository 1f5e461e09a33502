/// Why a cryptographic operation was refused.
public enum CryptoError: Error, Sendable, Equatable {
    /// A key has another length than its cipher takes.
    case invalidKeyLength(expected: Int, actual: Int)
    /// Sealed bytes are shorter than nonce and tag together.
    case sealedBytesTooShort
    /// Sealed bytes, their associated data or the key are not those of the sealing.
    case authenticationFailed
    /// The system gave no random bytes.
    case randomUnavailable
}
