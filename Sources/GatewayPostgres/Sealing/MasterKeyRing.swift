import Bytes
public import FoundationEssentials
public import GatewayCore
import LibCrypto
import Synchronization

/// The master keys that seal secrets in the database. They can be replaced while the gateway runs.
///
/// The algorithm is AES-256-GCM. The table, the row and the key's identifier are authenticated too, so sealed bytes
/// open in their own place only.
public final class MasterKeyRing: Sendable, CustomStringConvertible {
    private struct Keys {
        /// Identifier of the key that seals.
        var currentID: String
        var all: [String: AESGCMKey]
        /// What tells each key from others with its identifier: 16 hexadecimal digits.
        var digests: [String: String]
        /// The text that they were parsed from.
        var text: Secret<String>

        /// Identifiers of all keys: first the key that seals, then the others in alphabetical order.
        var identifiers: [String] { [currentID] + all.keys.filter { $0 != currentID }.sorted() }

        /// Fingerprints of all keys, in the order of ``identifiers``.
        var fingerprints: [String] { identifiers.map { fingerprint(of: $0) } }

        func fingerprint(of id: String) -> String { "\(id):\(digests[id, default: ""])" }
    }

    private struct State {
        var keys: Keys
        /// The keys that are to take their place; `nil` if none are.
        var successors: Keys?
    }

    private let state: Mutex<State>

    /// The identifier of a key that is given without one.
    static let defaultID = "default"

    /// Parses keys.
    ///
    /// - Parameter text: One key per line, `<identifier>:<base64 of 32 bytes>`, or a single line with only base64. The
    ///   first key seals; all keys open. An identifier has 1 to 64 letters, digits, `.`, `_` and `-`. Empty lines are
    ///   ignored.
    /// - Throws: ``MasterKeyError/malformed(line:reason:)``.
    public init(parsing text: Secret<String>) throws(MasterKeyError) {
        var keys: [String: AESGCMKey] = [:]
        var digests: [String: String] = [:]
        var currentID: String?
        let lines = text.reveal().split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
            .map { $0.drop(while: \.isWhitespace) }
            .enumerated().filter { !$0.element.isEmpty }
        for (index, line) in lines {
            let entry = try Self.entry(of: line, number: index + 1, isOnly: lines.count == 1)
            guard keys.updateValue(entry.key, forKey: entry.id) == nil else {
                throw .malformed(line: index + 1, reason: "an earlier line has the same identifier")
            }
            digests[entry.id] = entry.digest
            currentID = currentID ?? entry.id
        }
        guard let currentID else { throw .malformed(line: 1, reason: "there is no key") }
        state = Mutex(State(keys: Keys(currentID: currentID, all: keys, digests: digests, text: text)))
    }

    /// Identifier of the key that seals.
    public var currentID: String { current.currentID }

    private var current: Keys { state.withLock { $0.keys } }

    /// Whether two rings were parsed from the same text.
    public func isSame(as other: MasterKeyRing) -> Bool { current.text.reveal() == other.current.text.reveal() }

    /// Lets ``announcement`` show the keys of another ring too, which are to take the place of these.
    public func announce(_ other: MasterKeyRing) {
        let successors = other.current
        state.withLock { $0.successors = successors }
    }

    /// Keeps its own keys, and announces no others any more.
    public func withdraw() {
        state.withLock { $0.successors = nil }
    }

    /// Takes the keys of another ring in place of its own.
    public func replace(with other: MasterKeyRing) {
        let successors = other.current
        state.withLock { $0 = State(keys: successors) }
    }

    private static func entry(
        of line: Substring, number: Int, isOnly: Bool
    ) throws(MasterKeyError) -> (id: String, key: AESGCMKey, digest: String) {
        var id = Self.defaultID
        var encoded = line
        if let colon = line.firstIndex(of: ":") {
            id = String(line[..<colon])
            encoded = line[line.index(after: colon)...]
        } else if !isOnly {
            throw .malformed(line: number, reason: "of several keys each has an identifier, '<identifier>:<base64>'")
        }
        // The error quotes no text of the line. If somebody swaps the two halves, the text before the colon is the key.
        guard isIdentifier(id) else {
            throw .malformed(
                line: number, reason: "an identifier has 1 to 64 letters, digits, '.', '_' and '-' before the colon")
        }
        while encoded.last?.isWhitespace == true { encoded.removeLast() }
        guard let bytes = Base64.decode(String(encoded)), let key = try? AESGCMKey(bytes) else {
            throw .malformed(line: number, reason: "a key is the base64, with padding, of 32 bytes")
        }
        let digest = HMACKey(bytes, algorithm: .sha256).authenticationCode(for: Array("sluice master key".utf8))
        return (id, key, String(digest.hex.prefix(16)))
    }

    private static func isIdentifier(_ text: String) -> Bool {
        text.consists(of: .alphanumeric.union("._-"), count: 1...64)
    }

    /// Identifiers of all keys: first the key that seals, then the others in alphabetical order.
    public var identifiers: [String] { current.identifiers }

    /// Fingerprints of all keys, in the order of ``identifiers``. A fingerprint is the identifier, a colon and 16
    /// hexadecimal digits, which differ for two keys with one identifier. They say nothing about the key.
    var fingerprints: [String] { current.fingerprints }

    /// Fingerprints of the keys that a gateway with this ring tells others of: its own, and those that are to take
    /// their place. The key that seals comes first. While another one is about to, an empty text comes first instead,
    /// so that no rotation takes the gateway for one that seals with either.
    public var announcement: [String] {
        let (keys, successors) = state.withLock { ($0.keys, $0.successors) }
        let own = keys.fingerprints
        guard let next = successors?.fingerprints else { return own }
        let all = next + own.filter { !next.contains($0) }
        return next.first == own.first ? all : [""] + all
    }

    /// Fingerprint of the key that seals.
    public var currentFingerprint: String {
        let keys = current
        return keys.fingerprint(of: keys.currentID)
    }

    /// Lists the identifiers, never the keys.
    public var description: String {
        let keys = current
        return "current: \(keys.currentID), all: \(keys.all.keys.sorted().joined(separator: ", "))"
    }
}

extension MasterKeyRing {
    /// Seals a secret for one row, with the current key.
    func seal(_ secret: [UInt8], in place: SealedPlace) throws(MasterKeyError) -> SealedBytes {
        let keys = current
        guard let key = keys.all[keys.currentID] else { throw .unknownKey(keys.currentID) }
        do throws(CryptoError) {
            let bytes = try key.seal(secret, authenticating: place.associatedData(keyID: keys.currentID))
            return SealedBytes(bytes: bytes, keyID: keys.currentID)
        } catch {
            throw .sealingFailed
        }
    }

    /// Opens a secret that was sealed for a row.
    func open(_ sealed: SealedBytes, in place: SealedPlace) throws(MasterKeyError) -> [UInt8] {
        guard let key = current.all[sealed.keyID] else { throw .unknownKey(sealed.keyID) }
        do throws(CryptoError) {
            return try key.open(sealed.bytes, authenticating: place.associatedData(keyID: sealed.keyID))
        } catch {
            throw .doesNotOpen(keyID: sealed.keyID)
        }
    }
}

/// Reasons why keys cannot be parsed, or a secret cannot be sealed or opened.
public enum MasterKeyError: Error, Sendable, Equatable, CustomStringConvertible {
    /// A line of the text is not a key. Lines count from 1. The reason quotes nothing from the line.
    case malformed(line: Int, reason: String)
    /// The ring has no key with this identifier.
    case unknownKey(String)
    /// The key with this identifier did not seal these bytes for this row.
    case doesNotOpen(keyID: String)
    /// Gateways that run have another key with this identifier. The list of gateways is never empty.
    case differs(keyID: String, gateways: [UUID])
    /// The system gave no random bytes.
    case sealingFailed

    /// One line for the log.
    public var description: String {
        switch self {
        case .malformed(let line, let reason): "line \(line) of the master keys: \(reason)"
        case .unknownKey(let id): "the master key '\(id)' is not among those given"
        case .doesNotOpen(let id):
            "the master key '\(id)' does not open the row: it is another key, or the row was changed"
        case .differs(let id, let gateways):
            "running gateways have another master key '\(id)': "
                + gateways.map(\.lowercaseText).joined(separator: ", ")
        case .sealingFailed: "the system gave no random bytes"
        }
    }
}
