import Bytes
import StrictJSON

/// The keys in one document of an issuer. A later document makes another object.
public final class KeySet: Sendable {
    /// Largest number of keys in a document.
    public static let maxKeys = 100

    private let keys: [VerificationKey]

    /// Whether the set holds no usable key.
    public var isEmpty: Bool { keys.isEmpty }

    /// Holds the keys that may sign an issuer's tokens.
    public init(_ keys: [VerificationKey]) {
        self.keys = keys
    }

    /// Reads a JWK set (RFC 7517, section 5); `nil` for anything else.
    ///
    /// Keys of other types and for other uses are left out. So are shared secrets, which must not appear in a key set.
    ///
    /// - Parameter algorithms: The names of the algorithms for which the keys may be used. Names that are not those of
    ///   a ``PublicKeyAlgorithm`` have no effect.
    public convenience init?(document: [UInt8], algorithms: [String]) {
        guard let value = try? JSONReader.read(document), case .array(let items)? = value["keys"],
            items.count <= Self.maxKeys
        else { return nil }
        let algorithms = algorithms.compactMap { PublicKeyAlgorithm(named: $0) }
        var keys: [VerificationKey] = []
        for item in items {
            for algorithm in algorithms {
                if let key = VerificationKey(jwk: item, algorithm: algorithm) { keys.append(key) }
            }
        }
        self.init(keys)
    }

    /// The keys that may have signed a token with this header.
    ///
    /// For a token without a `kid`, only one key may fit: no token makes the gateway try one key after another. A
    /// shared secret has no name, and is the only key of its issuer, so it fits whatever the token calls it.
    public func keys(for token: CompactToken) -> [VerificationKey] {
        let fitting = keys.filter { $0.algorithm.isSameBytes(as: token.algorithm) }
        guard let id = token.keyID else { return fitting.count == 1 ? fitting : [] }
        return fitting.filter { $0.isShared || $0.id?.isSameBytes(as: id) ?? false }
    }
}
