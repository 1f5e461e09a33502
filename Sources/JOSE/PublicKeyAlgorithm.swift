import Bytes
import LibCrypto

/// An algorithm of signatures that a public key verifies (RFC 7518, section 3.1, and RFC 8037).
///
/// HS256, whose key is a secret, is none of them. A published key therefore cannot serve as a secret, whatever a token
/// or a configuration says.
public enum PublicKeyAlgorithm: String, Sendable, CaseIterable {
    case rs256 = "RS256"
    case rs384 = "RS384"
    case rs512 = "RS512"
    case ps256 = "PS256"
    case ps384 = "PS384"
    case ps512 = "PS512"
    case es256 = "ES256"
    case es384 = "ES384"
    case es512 = "ES512"
    /// Ed25519, the one curve of EdDSA that is supported.
    case edDSA = "EdDSA"

    /// Finds an algorithm by its exact name.
    public init?(named name: String) {
        guard let algorithm = Self.allCases.first(where: { $0.rawValue.isSameBytes(as: name) }) else { return nil }
        self = algorithm
    }

    /// The kind of key that an algorithm needs.
    enum Kind {
        case rsa(PublicKey.RSAPadding, PublicKey.Hash)
        case point(PublicKey.Curve, PublicKey.Hash)
        case ed25519
    }

    var kind: Kind {
        switch self {
        case .rs256: .rsa(.pkcs1, .sha256)
        case .rs384: .rsa(.pkcs1, .sha384)
        case .rs512: .rsa(.pkcs1, .sha512)
        case .ps256: .rsa(.pss, .sha256)
        case .ps384: .rsa(.pss, .sha384)
        case .ps512: .rsa(.pss, .sha512)
        case .es256: .point(.p256, .sha256)
        case .es384: .point(.p384, .sha384)
        case .es512: .point(.p521, .sha512)
        case .edDSA: .ed25519
        }
    }
}
