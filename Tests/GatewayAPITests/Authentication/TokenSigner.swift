import LibCrypto
import TestSupport

/// Signs tokens of any form, valid or invalid.
struct TokenSigner {
    let algorithm: String
    let keyID: String?
    /// The public key's own members of a JWK: `kty` and those of its type; empty for a shared secret.
    let key: String
    private let sign: @Sendable ([UInt8]) -> [UInt8]

    /// Makes a new key or, for RSA, takes one that is always the same.
    init(_ algorithm: String = "ES256", keyID: String? = "k1") {
        let key = TokenKey(algorithm)
        (self.algorithm, self.keyID, self.key) = (algorithm, keyID, key.members)
        sign = { key.signature(of: $0) }
    }

    /// Takes a shared secret. The names of its algorithm and key may be wrong on purpose.
    init(secret: String, keyID: String? = nil) {
        let key = HMACKey(Array(secret.utf8), algorithm: .sha256)
        (algorithm, self.keyID, self.key) = ("HS256", keyID, "")
        sign = { key.authenticationCode(for: $0).bytes }
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
    func token(_ claims: String = IssuerFixture.claims(), header: String? = nil) -> String {
        let keyID = keyID.map { #","kid":"\#($0)""# } ?? ""
        let header = header ?? #"{"alg":"\#(algorithm)"\#(keyID)}"#
        let signed = Self.base64URL(header.utf8) + "." + Self.base64URL(claims.utf8)
        return signed + "." + Self.base64URL(sign(Array(signed.utf8)))
    }

    /// Encodes base64 with the URL alphabet and without padding.
    static func base64URL(_ bytes: some Sequence<UInt8>) -> String {
        TokenKey.base64URL(bytes)
    }
}
