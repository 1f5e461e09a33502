/// Why a cryptographic operation was refused.
public enum CryptoError: Error, Sendable, Equatable {
    /// The length of a key does not fit its cipher.
    case invalidKeyLength(expected: Int, actual: Int)
    /// Sealed bytes are shorter than a nonce and a tag.
    case sealedBytesTooShort
    /// Sealed bytes, associated data or key differ from those at sealing.
    case authenticationFailed
    /// A private key cannot be read, is of another kind, is too short, or consists of numbers that do not fit together.
    case invalidPrivateKey
    /// A private key is encrypted, and nobody is asked for the password.
    case encryptedPrivateKey
    /// A private key is not that of the certificate.
    case privateKeyOfAnotherCertificate
    /// A public key cannot be read, is of another kind, or is too short or too long.
    case invalidPublicKey
    /// A certificate cannot be read.
    case invalidCertificate
    /// The system returned no random bytes.
    case randomUnavailable
}
