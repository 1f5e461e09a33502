import GatewayCore
import JWTKit
import StrictJSON
import enum LibCrypto.Base64URL

/// A key, bound to the one algorithm with which it may be used.
///
/// jwt-kit supplies only the arithmetic. Its own way from a token to a key is not used, for three reasons: it falls
/// back to another key where the `kid` is unknown, it takes the key's `alg` for the token's, and it ignores `crit` and
/// `use`.
struct VerificationKey: Sendable {
    /// The key's identifier (`kid`).
    let id: String?
    /// The name of the algorithm, for example `ES256`.
    let algorithm: String
    private let verifier: any JWTAlgorithm

    /// Reads a public key (RFC 7517) for an algorithm; `nil` where the key does not fit the algorithm or is unsuitable.
    init?(jwk: JSONValue, algorithm: String) async {
        guard let form = Self.forms[algorithm], jwk["kty"] == .string(form.type),
            form.curve == nil || jwk["crv"] == form.curve.map(JSONValue.string),
            Self.permits(jwk, algorithm)
        else { return nil }
        switch jwk["kid"] {
        case nil: id = nil
        case .string(let text)?: id = text
        default: return nil
        }
        guard let verifier = try? await Self.verifier(jwk, algorithm) else { return nil }
        self.algorithm = algorithm
        self.verifier = verifier
    }

    /// Takes a shared secret for HS256; `nil` for a secret shorter than the hash (RFC 7518, section 3.2).
    init?(secret: Secret<String>) async {
        guard secret.reveal().utf8.count >= 32 else { return nil }
        let keys = await JWTKeyCollection().add(hmac: HMACKey(from: secret.reveal()), digestAlgorithm: .sha256)
        guard let verifier = try? await keys.getKey() else { return nil }
        (id, algorithm, self.verifier) = (nil, "HS256", verifier)
    }

    /// Whether this key made the signature.
    func verifies(_ signature: [UInt8], of message: ArraySlice<UInt8>) -> Bool {
        (try? verifier.verify(signature, signs: message)) ?? false
    }

    /// Key type, curve and coordinate length in bytes, by algorithm (RFC 7518, section 3.1, and RFC 8037).
    private static let forms: [String: (type: String, curve: String?, coordinate: Int)] = [
        "RS256": ("RSA", nil, 0), "RS384": ("RSA", nil, 0), "RS512": ("RSA", nil, 0),
        "PS256": ("RSA", nil, 0), "PS384": ("RSA", nil, 0), "PS512": ("RSA", nil, 0),
        "ES256": ("EC", "P-256", 32), "ES384": ("EC", "P-384", 48), "ES512": ("EC", "P-521", 66),
        "EdDSA": ("OKP", "Ed25519", 32),
    ]

    /// Whether the owner of the key permits this use.
    private static func permits(_ jwk: JSONValue, _ algorithm: String) -> Bool {
        guard jwk["alg"] == nil || jwk["alg"] == .string(algorithm), jwk["use"] == nil || jwk["use"] == .string("sig")
        else { return false }
        guard let operations = jwk["key_ops"] else { return true }
        return operations.strings?.contains("verify") ?? false
    }

    private static func verifier(_ jwk: JSONValue, _ algorithm: String) async throws -> (any JWTAlgorithm)? {
        let keys = JWTKeyCollection()
        switch algorithm {
        case "ES256":
            guard let point = point(of: jwk, algorithm) else { return nil }
            await keys.add(ecdsa: try ES256PublicKey(parameters: point))
        case "ES384":
            guard let point = point(of: jwk, algorithm) else { return nil }
            await keys.add(ecdsa: try ES384PublicKey(parameters: point))
        case "ES512":
            guard let point = point(of: jwk, algorithm) else { return nil }
            await keys.add(ecdsa: try ES512PublicKey(parameters: point))
        case "EdDSA":
            guard let x = coordinate("x", of: jwk, algorithm) else { return nil }
            await keys.add(eddsa: try EdDSA.PublicKey(x: x, curve: .ed25519))
        default:
            // At most 8,192 bits: the time of one check grows with the square of the length.
            guard let modulus = number("n", of: jwk, 256...1024), let exponent = number("e", of: jwk, 1...4) else {
                return nil
            }
            let key = try Insecure.RSA.PublicKey(modulus: modulus, exponent: exponent)
            let digest: DigestAlgorithm =
                switch algorithm.suffix(3) {
                case "256": .sha256
                case "384": .sha384
                default: .sha512
                }
            if algorithm.utf8.first == UInt8(ascii: "P") {
                await keys.add(pss: key, digestAlgorithm: digest)
            } else {
                await keys.add(rsa: key, digestAlgorithm: digest)
            }
        }
        return try await keys.getKey()
    }

    private static func point(of jwk: JSONValue, _ algorithm: String) -> ECDSAParameters? {
        guard let x = coordinate("x", of: jwk, algorithm), let y = coordinate("y", of: jwk, algorithm) else {
            return nil
        }
        return (x, y)
    }

    /// Reads a coordinate of exactly the curve's length. jwt-kit joins x and y without measuring them, so one could
    /// borrow bytes from the other.
    private static func coordinate(_ name: String, of jwk: JSONValue, _ algorithm: String) -> String? {
        guard let length = forms[algorithm]?.coordinate else { return nil }
        return number(name, of: jwk, length...length)
    }

    /// Reads a base64url member whose length in bytes lies in the given range.
    private static func number(_ name: String, of jwk: JSONValue, _ byteCounts: ClosedRange<Int>) -> String? {
        guard case .string(let text)? = jwk[name], let bytes = Base64URL.decode(text.utf8), byteCounts ~= bytes.count
        else { return nil }
        return text
    }
}
