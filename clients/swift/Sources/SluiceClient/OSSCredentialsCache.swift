import Foundation

/// Temporary credentials for an OSS SDK, which the gateway is asked for when they are needed, and again before they
/// end. Make one for each bucket and prefix, and use it for all requests to the store.
public actor OSSCredentialsCache {
    // The longest time before their end during which credentials are not handed out any more.
    private static let margin = Duration.seconds(300)

    private let client: Sluice
    private let bucket: String
    private let prefix: String
    private let now: @Sendable () -> ContinuousClock.Instant
    private let date: @Sendable () -> Date
    private var kept: (credentials: Sluice.OSSCredentials, until: ContinuousClock.Instant)?
    private(set) var fetching: (task: Task<Sluice.OSSCredentials, any Error>, callers: Int)?

    /// Holds nothing yet.
    ///
    /// - Parameters:
    ///   - client: asks for the credentials.
    ///   - bucket: the bucket.
    ///   - prefix: what the credentials cover: empty for all of the bucket, or with `/` at its end.
    public init(_ client: Sluice, bucket: String, prefix: String = "") {
        self.init(client, bucket: bucket, prefix: prefix, now: { .now }, date: { Date() })
    }

    init(
        _ client: Sluice, bucket: String, prefix: String, now: @escaping @Sendable () -> ContinuousClock.Instant,
        date: @escaping @Sendable () -> Date
    ) {
        self.client = client
        self.bucket = bucket
        self.prefix = prefix
        self.now = now
        self.date = date
    }

    /// Credentials that live for some time: for five minutes, or for half of their life if that is shorter.
    ///
    /// Callers that wait at the same time share one request to the gateway, which ends if all of them are cancelled.
    /// After a refusal, the next call asks again. How long credentials live is counted from the `Date` of the gateway's
    /// answer. The device's clock matters only where a proxy removes it.
    public func credentials() async throws -> Sluice.OSSCredentials {
        if let kept, now() < kept.until { return kept.credentials }
        let task = fetching?.task ?? Task { try await fetch() }
        fetching = (task, (fetching?.callers ?? 0) + 1)
        defer { leave(task) }
        return try await task.valueUnlessCancelled
    }

    private func leave(_ task: Task<Sluice.OSSCredentials, any Error>) {
        guard let fetching, fetching.task == task else { return }
        self.fetching = (task, fetching.callers - 1)
        // A caller that is not cancelled has waited until the end.
        guard fetching.callers == 1 || !Task.isCancelled else { return }
        task.cancel()
        self.fetching = nil
    }

    private func fetch() async throws -> Sluice.OSSCredentials {
        // Their life begins before the answer is read: the system may suspend the app in between.
        let (start, date) = (now(), date())
        let found = try await client.ossCredentials(bucket: bucket, prefix: prefix)
        let life = Duration.seconds(found.expiration.timeIntervalSince(found.date ?? date))
        kept = (found, start + life - min(Self.margin, life / 2))
        return found
    }
}
