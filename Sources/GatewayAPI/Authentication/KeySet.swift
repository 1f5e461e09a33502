import GatewayCore
import StrictJSON

/// The keys of an issuer, as one document named them; a later document makes another object.
final class KeySet: Sendable {
    /// Most keys that a document may hold.
    static let maxKeys = 100

    private let keys: [VerificationKey]

    /// Whether no key is of any use.
    var isEmpty: Bool { keys.isEmpty }

    /// Holds the keys that tokens of an issuer may be signed with.
    init(_ keys: [VerificationKey]) {
        self.keys = keys
    }

    /// Reads a JWK set (RFC 7517, section 5); `nil` for anything else.
    ///
    /// Keys of other kinds and for other uses are left out, as are shared secrets: a set is no place for them.
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

    /// Keys that a token with this header may be signed with.
    ///
    /// Without a `kid`, only one key may fit: no token makes the gateway try key after key.
    func keys(for token: CompactToken) -> [VerificationKey] {
        let fitting = keys.filter { ExactText($0.algorithm) == ExactText(token.algorithm) }
        guard let id = token.keyID else { return fitting.count == 1 ? fitting : [] }
        return fitting.filter { $0.id.map(ExactText.init) == ExactText(id) }
    }
}
