import Foundation
import JWTKit

/// Signs tokens of any form, valid or invalid.
struct TokenSigner {
    let algorithm: String
    let keyID: String?
    /// The public key's own members of a JWK: `kty` and those of its type.
    let key: String
    private let signer: any JWTAlgorithm

    /// Makes a new key or, for RSA, takes the one published in RFC 7515.
    init(_ algorithm: String = "ES256", keyID: String? = "k1") async throws {
        self.algorithm = algorithm
        self.keyID = keyID
        let keys = JWTKeyCollection()
        switch algorithm {
        case "ES256":
            let key = ES256PrivateKey()
            self.key = try Self.point(key.parameters, on: "P-256")
            await keys.add(ecdsa: key)
        case "ES384":
            let key = ES384PrivateKey()
            self.key = try Self.point(key.parameters, on: "P-384")
            await keys.add(ecdsa: key)
        case "ES512":
            let key = ES512PrivateKey()
            self.key = try Self.point(key.parameters, on: "P-521")
            await keys.add(ecdsa: key)
        case "EdDSA":
            let key = try EdDSA.PrivateKey()
            self.key = #""kty":"OKP","crv":"Ed25519","x":"\#(Self.base64URL(key.publicKey.rawRepresentation))""#
            await keys.add(eddsa: key)
        default:
            let key = try Insecure.RSA.PrivateKey(
                modulus: PublishedKeys.rsaModulus, exponent: "AQAB",
                privateExponent: PublishedKeys.rsaPrivateExponent)
            self.key = #""kty":"RSA","n":"\#(PublishedKeys.rsaModulus)","e":"AQAB""#
            let digests: [String: DigestAlgorithm] = ["256": .sha256, "384": .sha384, "512": .sha512]
            let digest = digests[String(algorithm.suffix(3))] ?? .sha256
            if algorithm.hasPrefix("PS") {
                await keys.add(pss: key, digestAlgorithm: digest)
            } else {
                await keys.add(rsa: key, digestAlgorithm: digest)
            }
        }
        signer = try await keys.getKey()
    }

    /// Takes a shared secret. The names of its algorithm and key may be wrong on purpose.
    init(secret: String, keyID: String? = nil) async throws {
        (algorithm, self.keyID, key) = ("HS256", keyID, "")
        let keys = await JWTKeyCollection().add(hmac: HMACKey(from: secret), digestAlgorithm: .sha256)
        signer = try await keys.getKey()
    }

    /// The public key as a JWK, with further members.
    func jwk(_ members: String = "") -> String {
        let keyID = keyID.map { #","kid":"\#($0)""# } ?? ""
        return "{" + key + keyID + members + "}"
    }

    /// A set of public keys.
    static func set(_ jwks: String...) -> String {
        #"{"keys":["# + jwks.joined(separator: ",") + "]}"
    }

    /// A token with these claims, and optionally with another header.
    func token(_ claims: String = IssuerFixture.claims(), header: String? = nil) throws -> String {
        let keyID = keyID.map { #","kid":"\#($0)""# } ?? ""
        let header = header ?? #"{"alg":"\#(algorithm)"\#(keyID)}"#
        let signed = Self.base64URL(Data(header.utf8)) + "." + Self.base64URL(Data(claims.utf8))
        return signed + "." + Self.base64URL(Data(try signer.sign(Data(signed.utf8))))
    }

    /// Encodes base64 with the URL alphabet and without padding.
    static func base64URL(_ data: Data) -> String {
        data.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    private static func point(_ parameters: ECDSAParameters?, on curve: String) throws -> String {
        guard let (x, y) = parameters, let x = Data(base64Encoded: x), let y = Data(base64Encoded: y) else {
            throw CocoaError(.coderInvalidValue)
        }
        return #""kty":"EC","crv":"\#(curve)","x":"\#(base64URL(x))","y":"\#(base64URL(y))""#
    }
}
