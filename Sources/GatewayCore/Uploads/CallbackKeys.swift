import Bytes
public import FoundationEssentials
import LibCrypto
import Synchronization

/// The public keys that verify Alibaba OSS callbacks. A key is fetched from the address named in the callback, if its
/// origin is listed.
///
/// - SeeAlso: Alibaba Cloud, "Callback", step 4.
public final class CallbackKeys: Sendable {
    /// The origins where OSS publishes its key.
    public static let defaultOrigins = ["https://gosspublic.alicdn.com"]
    /// Maximum length of a key address, in bytes.
    static let maxURLBytes = 1024

    private struct Held {
        let key: PublicKey
        let fetchedAt: Date
    }

    private let fetcher: any KeySetFetcher
    private let origins: [String]
    private let now: @Sendable () -> Date
    private let held = Mutex(LeastRecentlyUsed<String, Held>(maxCount: 8, maxCost: 8))
    /// Anyone can name an address at the listed origins. Held keys are therefore refetched through a gate of their own,
    /// and do not wait behind fetches of other addresses.
    private let fetches = Gate(size: 4, for: "keys of callbacks")
    private let allowance = Mutex(TokenBucket(burst: 8, perSecond: 2))
    private let refetches = Gate(size: 1, for: "keys of callbacks")

    private static let maxAge: TimeInterval = 86_400

    /// Creates a collection without keys.
    ///
    /// - Parameters:
    ///   - fetcher: Fetches documents over the network.
    ///   - origins: Origins that may serve keys, `https://host[:port]`; or `http://`, where the outbound rules permit
    ///     that.
    ///   - now: The clock that measures the age of keys; a key is fetched again after a day.
    public init(fetcher: any KeySetFetcher, origins: [String], now: @escaping @Sendable () -> Date) {
        self.fetcher = fetcher
        self.origins = origins
        self.now = now
    }

    /// Verifies the signature of a callback.
    ///
    /// - Parameters:
    ///   - message: The decoded path, the query as received, a line feed, and the body.
    ///   - signature: The signature from the `Authorization` header, base64.
    ///   - keyURL: The address of the key from the `x-oss-pub-key-url` header, base64.
    /// - Throws: `unauthenticated`; `unavailable` or `slowDown` if the key cannot be fetched now.
    public func verify(_ message: [UInt8], signature: String, keyURL: String) async throws(GatewayError) {
        let refusal = GatewayError.unauthenticated(reason: "The signature of the callback is not accepted.")
        guard keyURL.utf8.count <= 2 * Self.maxURLBytes, signature.utf8.count <= 2048,
            let signature = Base64.decode(signature),
            let bytes = Base64.decode(keyURL), let text = String(validating: bytes, as: UTF8.self),
            let address = address(text)
        else { throw refusal }
        let (key, fetchedAt) = try await key(at: address)
        guard key.verifies(signature, of: message.span) else { throw refusal }
        // Only now: a key that signed nothing must not take the place of one that did.
        if let fetchedAt { held.withLock { $0.insert(Held(key: key, fetchedAt: fetchedAt), for: address, cost: 1) } }
    }

    /// Returns the address to fetch a key from; `nil` if its origin is not listed, or if it may be one of many forms of
    /// one address. OSS names an `http` address but also serves the key over https, so https is used.
    private func address(_ text: String) -> String? {
        guard text.consists(of: .visible, count: 1...Self.maxURLBytes), Self.isPlain(text) else { return nil }
        for origin in origins {
            if text.utf8.starts(with: (origin + "/").utf8) { return text }
            guard origin.utf8.starts(with: "https://".utf8) else { continue }
            let plain = "http://\(origin.dropFirst(8))/"
            if text.utf8.starts(with: plain.utf8) { return "https\(Substring(text.utf8.dropFirst(4)))" }
        }
        return nil
    }

    /// Whether an address has no query, no fragment, no escapes, and no segments that are empty or dots. Otherwise
    /// anybody could name one key in any number of ways.
    private static func isPlain(_ text: String) -> Bool {
        let segments = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).dropFirst(3)
        let allowed = ByteSet.alphanumeric.union("-._")
        return segments.allSatisfy { segment in
            segment.contains { $0 != UInt8(ascii: ".") } && segment.allSatisfy(allowed.contains)
        }
    }

    /// Returns the key at an address, and, if it is not held, when it was fetched.
    private func key(at address: String) async throws(GatewayError) -> (key: PublicKey, fetchedAt: Date?) {
        let start = now()
        guard let known = held.withLock({ $0.value(for: address) }) else {
            guard allowance.withLock({ $0.take(at: start) }) else {
                throw .slowDown(retryAfter: 1, cause: "too many public keys of callbacks were asked for")
            }
            return try await fetch(address, through: fetches)
        }
        if 0..<Self.maxAge ~= start.timeIntervalSince(known.fetchedAt) { return (known.key, nil) }
        // An expired key is better than none if the fetch fails.
        do throws(GatewayError) {
            return try await fetch(address, through: refetches)
        } catch {
            return (known.key, nil)
        }
    }

    private func fetch(
        _ address: String, through gate: Gate
    ) async throws(GatewayError) -> (key: PublicKey, fetchedAt: Date?) {
        let start = now()
        let document = try await gate.pass { () async throws(GatewayError) in
            try await fetcher.keySet(at: address)
        }
        guard let text = String(validating: document, as: UTF8.self), let key = try? PublicKey(md5PEM: text) else {
            // The error asks the store to call again, because the address is one of the store's own.
            throw .unavailable(retryAfter: 5, cause: "the public key of a callback cannot be read")
        }
        return (key, start)
    }
}
