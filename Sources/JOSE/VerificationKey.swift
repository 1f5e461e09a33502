import Bytes
import LibCrypto
public import StrictJSON

/// A key, bound to the one algorithm with which it may be used.
public struct VerificationKey: Sendable {
    private enum Verifier {
        case publicKey(PublicKey)
        case secret(HMACKey)
    }

    /// Shortest shared secret in bytes: as long as the digest (RFC 7518, section 3.2).
    static let minSecretBytes = 32

    /// The key's identifier (`kid`).
    public let id: String?
    /// The name of the algorithm, for example `ES256`.
    public let algorithm: String
    private let verifier: Verifier

    /// Reads a public key (RFC 7517) for an algorithm; `nil` where the key does not fit the algorithm or is unsuitable.
    public init?(jwk: JSONValue, algorithm: PublicKeyAlgorithm) {
        guard Self.permits(jwk, algorithm), let key = Self.key(jwk, algorithm) else { return nil }
        switch jwk["kid"] {
        case nil: id = nil
        case .string(let text)?: id = text
        default: return nil
        }
        self.algorithm = algorithm.rawValue
        verifier = .publicKey(key)
    }

    /// Takes a shared secret for HS256; `nil` for a secret shorter than ``minSecretBytes``.
    public init?(secret: [UInt8]) {
        guard secret.count >= Self.minSecretBytes else { return nil }
        (id, algorithm) = (nil, "HS256")
        verifier = .secret(HMACKey(secret, algorithm: .sha256))
    }

    /// Whether the key is a shared secret.
    var isShared: Bool { if case .secret = verifier { true } else { false } }

    /// Whether this key made the signature.
    public func verifies(_ signature: [UInt8], of message: ArraySlice<UInt8>) -> Bool {
        switch verifier {
        case .publicKey(let key): key.verifies(signature, of: message.span)
        case .secret(let key): key.authenticationCode(for: message.span).isSame(as: signature)
        }
    }

    /// Whether the owner of the key permits this use.
    private static func permits(_ jwk: JSONValue, _ algorithm: PublicKeyAlgorithm) -> Bool {
        guard jwk["alg"].isAbsent(or: algorithm.rawValue), jwk["use"].isAbsent(or: "sig") else { return false }
        guard let operations = jwk["key_ops"] else { return true }
        return operations.strings?.contains { $0.isSameBytes(as: "verify") } ?? false
    }

    private static func key(_ jwk: JSONValue, _ algorithm: PublicKeyAlgorithm) -> PublicKey? {
        guard case .string(let type)? = jwk["kty"] else { return nil }
        switch algorithm.kind {
        case .rsa(let padding, let hash):
            guard type.isSameBytes(as: "RSA"), let modulus = bytes("n", of: jwk), let exponent = bytes("e", of: jwk)
            else { return nil }
            return try? PublicKey(rsaModulus: modulus, exponent: exponent, padding: padding, hash: hash)
        case .point(let curve, let hash):
            guard type.isSameBytes(as: "EC"), isOn(curve.name, jwk),
                let x = bytes("x", of: jwk), let y = bytes("y", of: jwk)
            else { return nil }
            return try? PublicKey(x: x, y: y, on: curve, hash: hash)
        case .ed25519:
            guard type.isSameBytes(as: "OKP"), isOn("Ed25519", jwk), let x = bytes("x", of: jwk) else { return nil }
            return try? PublicKey(ed25519: x)
        }
    }

    private static func isOn(_ curve: String, _ jwk: JSONValue) -> Bool {
        guard case .string(let name)? = jwk["crv"] else { return false }
        return name.isSameBytes(as: curve)
    }

    /// The bytes of a base64url member.
    private static func bytes(_ name: String, of jwk: JSONValue) -> [UInt8]? {
        guard case .string(let text)? = jwk[name] else { return nil }
        return Base64URL.decode(text.utf8Span.span)
    }
}

extension PublicKey.Curve {
    /// The name in a JWK (RFC 7518, section 6.2.1.1).
    fileprivate var name: String {
        switch self {
        case .p256: "P-256"
        case .p384: "P-384"
        case .p521: "P-521"
        }
    }
}

extension JSONValue? {
    /// Whether there is no value, or exactly this text.
    fileprivate func isAbsent(or text: String) -> Bool {
        switch self {
        case nil: true
        case .string(let found)?: found.isSameBytes(as: text)
        default: false
        }
    }
}
