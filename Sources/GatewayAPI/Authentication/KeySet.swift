import GatewayCore
import StrictJSON

/// The keys in one document of an issuer. A later document makes another object.
final class KeySet: Sendable {
    /// Largest number of keys in a document.
    static let maxKeys = 100

    private let keys: [VerificationKey]

    /// Whether the set holds no usable key.
    var isEmpty: Bool { keys.isEmpty }

    /// Holds the keys that may sign an issuer's tokens.
    init(_ keys: [VerificationKey]) {
        self.keys = keys
    }

    /// Reads a JWK set (RFC 7517, section 5); `nil` for anything else.
    ///
    /// Keys of other types and for other uses are left out. So are shared secrets, which must not appear in a key set.
    convenience init?(document: [UInt8], algorithms: [String]) async {
        guard let value = try? JSONReader.read(document), case .array(let items)? = value["keys"],
            items.count <= Self.maxKeys
        else { return nil }
        var keys: [VerificationKey] = []
        for item in items {
            for algorithm in algorithms {
                if let key = await VerificationKey(jwk: item, algorithm: algorithm) { keys.append(key) }
            }
        }
        self.init(keys)
    }

    /// The keys that may have signed a token with this header.
    ///
    /// For a token without a `kid`, only one key may fit: no token makes the gateway try one key after another.
    func keys(for token: CompactToken) -> [VerificationKey] {
        let fitting = keys.filter { ExactText($0.algorithm) == ExactText(token.algorithm) }
        guard let id = token.keyID else { return fitting.count == 1 ? fitting : [] }
        return fitting.filter { $0.id.map(ExactText.init) == ExactText(id) }
    }
}
