public import FoundationEssentials
public import GatewayCore

/// Tests buckets at their stores with the links that users get. Requests go through ``OutboundClient``.
public struct BucketProbe: BucketValidator {
    let client: OutboundClient
    let signer: URLSigner
    let maxClockDifference: TimeInterval
    let now: @Sendable () -> Date

    /// Time for everything but removals.
    var patience = Duration.seconds(9)
    static let stepTimeout = Duration.seconds(4)
    static let endpointTimeout = Duration.seconds(2)
    /// Time after ``patience`` for removing what the steps left, and then for the probe object, whose removal is always
    /// attempted.
    static let removalTimeout = Duration.seconds(2)
    static let urlLife = 60
    /// How long ago a link was signed that must have ended.
    static let expiredFor: TimeInterval = 600
    static let maxAnswerBytes = 65_536

    /// Makes a probe.
    ///
    /// - Parameters:
    ///   - client: The client for requests to stores.
    ///   - signer: The signer of the links.
    ///   - maxClockDifference: Seconds by which the time that a store notes for an object may differ from the gateway's
    ///     clock, as for the settling of reservations.
    ///   - now: The clock of the signatures.
    public init(
        client: OutboundClient, signer: URLSigner, maxClockDifference: TimeInterval,
        now: @escaping @Sendable () -> Date
    ) {
        self.client = client
        self.signer = signer
        self.maxClockDifference = maxClockDifference
        self.now = now
    }

    /// Writes, reads and removes a probe object, reads it through each public endpoint, and sends the preflight
    /// requests of the bucket's origins.
    public func validate(
        _ bucket: Bucket, with credential: StorageCredential, _ cdnCredential: StorageCredential?, probe: ObjectKey
    ) async -> BucketValidation {
        var round = ProbeRound(self, bucket, credential, cdnCredential, probe)
        await round.tryObject()
        for origin in bucket.allowedOrigins { await round.tryPreflight(from: origin) }
        round.compareClocks()
        return round.validation.advised(for: bucket)
    }
}
