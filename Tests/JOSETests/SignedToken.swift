import JOSE
import LibCrypto
import TestSupport

/// A token with its three parts, decoded, and the keys that accept it.
struct SignedToken {
    /// The names of all algorithms, also the one of shared secrets.
    static let algorithms = PublicKeyAlgorithm.allCases.map(\.rawValue) + ["HS256"]

    /// The public key in a JWK set; empty for a shared secret.
    let document: String
    let header: [UInt8]
    let payload: [UInt8]
    let signature: [UInt8]

    private static let secret = [UInt8](repeating: 7, count: 32)
    private static let keys = Dictionary(
        uniqueKeysWithValues: PublicKeyAlgorithm.allCases.map { ($0.rawValue, TokenKey($0.rawValue)) })

    /// Signs a token for a user.
    init(_ algorithm: String, subject: String) {
        // A shared secret has no identifier.
        let keyID = Self.keys[algorithm] == nil ? "" : #","kid":"k1""#
        header = Array(#"{"alg":"\#(algorithm)"\#(keyID)}"#.utf8)
        payload = Array(#"{"sub":"\#(subject)","exp":1900000000}"#.utf8)
        let signed = Array((TokenKey.base64URL(header) + "." + TokenKey.base64URL(payload)).utf8)
        if let key = Self.keys[algorithm] {
            document = #"{"keys":[{\#(key.members),"kid":"k1"}]}"#
            signature = key.signature(of: signed)
        } else {
            document = ""
            signature = HMACKey(Self.secret, algorithm: .sha256).authenticationCode(for: signed).bytes
        }
    }

    /// The token in compact form.
    var text: [UInt8] { Self.text(header, payload, signature) }

    /// The keys that accept the token, for all algorithms.
    var keySet: KeySet? {
        if document.isEmpty { return KeySet([VerificationKey(secret: Self.secret)].compactMap(\.self)) }
        return KeySet(document: Array(document.utf8), algorithms: Self.algorithms)
    }

    /// Parts in compact form.
    static func text(_ header: [UInt8], _ payload: [UInt8], _ signature: [UInt8]) -> [UInt8] {
        Array([header, payload, signature].map { TokenKey.base64URL($0) }.joined(separator: ".").utf8)
    }
}
