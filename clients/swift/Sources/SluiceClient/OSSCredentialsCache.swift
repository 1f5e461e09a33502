import Foundation

/// Temporary credentials for an OSS SDK, which the gateway is asked for when they are needed, and again before they
/// end. Make one for each bucket and prefix, and use it for all requests to the store.
public actor OSSCredentialsCache {
    // The longest time before their end during which credentials are not handed out any more.
    private static let margin: TimeInterval = 300

    private let client: Sluice
    private let bucket: String
    private let prefix: String
    private let now: @Sendable () -> Date
    private var kept: (credentials: Sluice.OSSCredentials, until: Date)?
    private var fetching: Task<Sluice.OSSCredentials, any Error>?

    /// Holds nothing yet.
    ///
    /// - Parameters:
    ///   - client: asks for the credentials.
    ///   - bucket: the bucket.
    ///   - prefix: what the credentials cover: empty for all of the bucket, or with `/` at its end.
    public init(_ client: Sluice, bucket: String, prefix: String = "") {
        self.init(client, bucket: bucket, prefix: prefix) { Date() }
    }

    init(_ client: Sluice, bucket: String, prefix: String, now: @escaping @Sendable () -> Date) {
        self.client = client
        self.bucket = bucket
        self.prefix = prefix
        self.now = now
    }

    /// Credentials that live for some time: for five minutes, or for half of their life if that is shorter.
    ///
    /// Callers that wait at the same time share one request to the gateway. After a refusal, the next call asks again.
    public func credentials() async throws -> Sluice.OSSCredentials {
        if let kept, now() < kept.until { return kept.credentials }
        let running = fetching ?? Task { try await fetch() }
        fetching = running
        return try await running.value
    }

    private func fetch() async throws -> Sluice.OSSCredentials {
        defer { fetching = nil }
        let found = try await client.ossCredentials(bucket: bucket, prefix: prefix)
        let life = found.expiration.timeIntervalSince(now())
        kept = (found, found.expiration.addingTimeInterval(-min(Self.margin, life / 2)))
        return found
    }
}
