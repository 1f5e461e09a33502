public import GatewayCore
import LibCurl
public import Logging

/// Fetches key sets of issuers over the network.
public struct KeySets: KeySetFetcher {
    /// Maximum length of a key set in bytes.
    public static let maxBytes = 262_144
    /// Time for a document. A request that waits for it has time left to be recorded with the keys that are held.
    private static let timeout = Duration.seconds(3)

    private let client: OutboundClient
    private let logger: Logger

    /// Makes a fetcher. The logger gets the reasons of failures.
    public init(client: OutboundClient, logger: Logger) {
        self.client = client
        self.logger = logger
    }

    /// Fetches the document at a URL. Others wait for it too, and it is not fetched again soon, so the fetch goes on if
    /// its task is cancelled.
    public func keySet(at url: String) async throws(GatewayError) -> [UInt8] {
        do throws(OutboundError) {
            let answer = try await client.send(
                .get, url, maxBytes: Self.maxBytes, timeout: Self.timeout, honoursCancellation: false, for: .keySet)
            guard answer.status == 200 else { throw .status(answer.status) }
            return answer.body
        } catch {
            logger.warning(
                "key set not read", metadata: ["url": "\(url.prefix { $0 != "?" })", "reason": "\(error.phrase)"])
            throw .unavailable(retryAfter: 5, cause: "a key set cannot be read: \(error.phrase)")
        }
    }
}
