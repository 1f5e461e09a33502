public import Foundation
import LibCrypto
import Synchronization

/// The keys that Alibaba OSS signs its callbacks with, fetched where a callback says, from origins that are listed.
///
/// - SeeAlso: Alibaba Cloud, "Callback", step 4.
public final class CallbackKeys: Sendable {
    /// Where OSS keeps its key.
    public static let defaultOrigins = ["https://gosspublic.alicdn.com"]
    /// Longest address of a key.
    static let maxURLBytes = 1024

    private struct Held {
        let key: RSAPublicKey
        let fetchedAt: Date
    }

    private let fetcher: any KeySetFetcher
    private let origins: [String]
    private let now: @Sendable () -> Date
    private let held = Mutex(LeastRecentlyUsed<String, Held>(maxCount: 8, maxCost: 8))
    /// Anybody may name an address at the listed origins: those of keys that are held do not stand behind others.
    private let fetches = Gate(size: 4)
    private let allowance = Mutex(Allowance(burst: 8, perSecond: 2))
    private let refetches = Gate(size: 1)

    private static let maxAge: TimeInterval = 86_400

    /// Makes a collection that holds nothing yet.
    ///
    /// - Parameters:
    ///   - fetcher: Reads documents over the network.
    ///   - origins: Where keys may lie, `https://host[:port]`; or `http://`, where the outbound rules permit that.
    ///   - now: The clock by which keys are fetched again after a day.
    public init(fetcher: any KeySetFetcher, origins: [String], now: @escaping @Sendable () -> Date) {
        self.fetcher = fetcher
        self.origins = origins
        self.now = now
    }

    /// Checks the signature of a callback.
    ///
    /// - Parameters:
    ///   - message: The path, decoded, the query as it came, a line feed, and the body.
    ///   - signature: Base64, as `Authorization` has it.
    ///   - keyURL: Base64 of the address of the key, as `x-oss-pub-key-url` has it.
    /// - Throws: `unauthenticated`; `unavailable` and `slowDown` where the key cannot be had now.
    public func verify(_ message: [UInt8], signature: String, keyURL: String) async throws(GatewayError) {
        let refusal = GatewayError.unauthenticated(reason: "The signature of the callback is not accepted.")
        guard keyURL.utf8.count <= 2 * Self.maxURLBytes, signature.utf8.count <= 2048,
            let signature = Base64.decode(signature),
            let bytes = Base64.decode(keyURL), let text = String(validating: bytes, as: UTF8.self),
            let address = address(text)
        else { throw refusal }
        guard try await key(at: address).verifiesMD5(signature, of: message) else { throw refusal }
    }

    /// Where a key is fetched; `nil` for an address that is not listed. OSS says `http`, and serves the key by https as well.
    private func address(_ text: String) -> String? {
        guard text.isVisible(1...Self.maxURLBytes) else { return nil }
        for origin in origins {
            if text.utf8.starts(with: (origin + "/").utf8) { return text }
            guard origin.utf8.starts(with: "https://".utf8) else { continue }
            let plain = "http://\(origin.dropFirst(8))/"
            if text.utf8.starts(with: plain.utf8) { return "https\(Substring(text.utf8.dropFirst(4)))" }
        }
        return nil
    }

    private func key(at address: String) async throws(GatewayError) -> RSAPublicKey {
        let start = now()
        guard let known = held.withLock({ $0.value(for: address) }) else {
            guard allowance.withLock({ $0.take(at: start) }) else {
                throw .slowDown(retryAfter: 1, cause: "too many public keys of callbacks were asked for")
            }
            return try await fetch(address, through: fetches)
        }
        if 0..<Self.maxAge ~= start.timeIntervalSince(known.fetchedAt) { return known.key }
        // An old key is better than none.
        do throws(GatewayError) { return try await fetch(address, through: refetches) } catch { return known.key }
    }

    private func fetch(_ address: String, through gate: Gate) async throws(GatewayError) -> RSAPublicKey {
        let start = now()
        let document = try await gate.pass { () async throws(GatewayError) in
            try await fetcher.keySet(at: address)
        }
        guard let text = String(validating: document, as: UTF8.self), let key = try? RSAPublicKey(pem: text) else {
            // The store is told to call again: the address is one of its own.
            throw .unavailable(retryAfter: 5, cause: "the public key of a callback cannot be read")
        }
        held.withLock { $0.insert(Held(key: key, fetchedAt: start), for: address, cost: 1) }
        return key
    }
}
