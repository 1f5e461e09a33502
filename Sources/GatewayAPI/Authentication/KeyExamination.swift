import Bytes
import GatewayCore
import JOSE
import LibCrypto
import StrictJSON

/// The keys of a JWK set, with the reasons why some are not used.
struct KeyExamination {
    /// The keys, in the order of the document.
    private(set) var keys: [IssuerValidation.Key] = []
    /// Whether a member that must stay secret is among the keys.
    private(set) var publishesSecret = false

    /// Examines a JWK set; `nil` for anything else, and for more keys than are read.
    ///
    /// - Parameters:
    ///   - document: The set as it was received.
    ///   - algorithms: The algorithms of the issuer's row.
    init?(document: [UInt8], algorithms: [String]) {
        guard let value = try? JSONReader.read(document), case .array(let items)? = value["keys"],
            items.count <= KeySet.maxKeys
        else { return nil }
        for item in items {
            var usable: [String] = []
            // ``VerificationKey`` decides; the rest only describes.
            for name in algorithms {
                guard let algorithm = PublicKeyAlgorithm(named: name),
                    VerificationKey(jwk: item, algorithm: algorithm) != nil
                else { continue }
                usable.append(name)
            }
            let isSecret = item["d"] != nil || item["k"] != nil
            publishesSecret = publishesSecret || isSecret
            var key = IssuerValidation.Key(
                id: item.text("kid"), type: item.text("kty"), curve: item.text("crv"), bits: item.keyBits,
                algorithm: item.text("alg"), use: item.text("use"), usableWith: usable)
            if usable.isEmpty {
                key.advice = Self.obstacle(item, key, algorithms)
            } else if isSecret {
                key.advice = "The set has the private part of this key. Replace the key at the issuer."
            }
            keys.append(key)
        }
    }

    /// The algorithms that have a key.
    var usableAlgorithms: Set<String> { Set(keys.flatMap(\.usableWith)) }

    private static func obstacle(_ item: JSONValue, _ key: IssuerValidation.Key, _ algorithms: [String]) -> String {
        let wanted = algorithms.joined(separator: ", ")
        guard let type = key.type else { return "This is not a JWK: it has no 'kty'." }
        guard ["RSA", "EC", "OKP"].contains(type) else {
            return type == "oct"
                ? "A shared secret must not be in a key set. Replace it at the issuer."
                : "Keys of this type are not supported."
        }
        if item["kid"] != nil, key.id == nil { return "Its 'kid' is not a string." }
        if item["use"] != nil, key.use != "sig" { return "The key is not for signatures: its 'use' is not 'sig'." }
        if let operations = item["key_ops"], operations.strings?.contains("verify") != true {
            return "The key may not verify signatures: its 'key_ops' lack 'verify'."
        }
        if item["alg"] != nil {
            guard let algorithm = key.algorithm, algorithms.contains(algorithm) else {
                return "The issuer's row does not allow the key's algorithm. It allows: \(wanted)."
            }
        }
        if type == "RSA", let bits = key.bits, !PublicKey.rsaBits.contains(bits) {
            return "RSA keys have 2,048 to 8,192 bits."
        }
        if !algorithms.contains(where: { Self.fits($0, type, key.curve) }) {
            return "The issuer's algorithms need keys of another type or curve. They are: \(wanted)."
        }
        return "Members of the key are missing or malformed."
    }

    /// Whether an algorithm works with keys of a type and curve (RFC 7518, section 3.1, and RFC 8037).
    private static func fits(_ algorithm: String, _ type: String, _ curve: String?) -> Bool {
        switch algorithm {
        case "ES256": type == "EC" && curve == "P-256"
        case "ES384": type == "EC" && curve == "P-384"
        case "ES512": type == "EC" && curve == "P-521"
        case "EdDSA": type == "OKP" && curve == "Ed25519"
        default: type == "RSA"
        }
    }
}

extension JSONValue {
    /// A text that others wrote, shortened to be shown.
    static let longestShown = 512

    /// A member that is a string, shortened to be shown; `nil` for anything else.
    fileprivate func text(_ name: String) -> String? {
        guard case .string(let text)? = self[name] else { return nil }
        return String(text.prefix(Self.longestShown))
    }

    /// The length of a JWK in bits; `nil` if it has none.
    fileprivate var keyBits: Int? {
        switch self["crv"] {
        case .string("P-256")?, .string("Ed25519")?: return 256
        case .string("P-384")?: return 384
        case .string("P-521")?: return 521
        default: break
        }
        guard case .string(let text)? = self["n"], text.utf8.count <= 8192,
            let modulus = Base64URL.decode(text.utf8)?.drop(while: { $0 == 0 }), let first = modulus.first
        else { return nil }
        return modulus.count * 8 - first.leadingZeroBitCount
    }
}
