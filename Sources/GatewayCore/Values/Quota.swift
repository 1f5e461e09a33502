public import FoundationEssentials

/// A limit on issuances per period.
public struct Quota: Sendable, Equatable {
    /// The unit that a quota counts.
    public enum Metric: String, Sendable, CaseIterable, Codable {
        /// URLs and other credentials issued.
        case urls
        /// Bytes that issued uploads may write; only for `PutObject`.
        case bytes
    }

    /// The period of a quota, in UTC by the database's clock.
    public enum Period: String, Sendable, CaseIterable, Codable {
        case minute
        case hour
        case day
        case month
        /// One period without end: usage never resets.
        case total
    }

    /// Whether users have the limit each or together.
    public enum Sharing: String, Sendable, CaseIterable, Codable {
        /// Each user that the principal covers has the whole limit.
        case each
        /// All users that the principal covers share the limit.
        case shared
    }

    /// Unique identifier.
    public var id: UUID
    /// The principal that the quota limits.
    public var principal: Principal
    /// The bucket that the quota is for; `nil` for all buckets.
    public var bucket: BucketName?
    /// The action that the quota is for; `nil` for all actions.
    public var action: Action?
    /// The unit that is counted.
    public var metric: Metric
    /// The period.
    public var period: Period
    /// Whether users have the limit each or together.
    public var sharing: Sharing
    /// Limit per period, in URLs or bytes; 0 refuses everything.
    public var limit: Int64
    /// When the quota was created. The store of rows sets it.
    public var createdAt: Date

    /// Creates a quota.
    public init(
        id: UUID, principal: Principal, bucket: BucketName?, action: Action?, metric: Metric, period: Period,
        sharing: Sharing, limit: Int64, createdAt: Date
    ) {
        self.id = id
        self.principal = principal
        self.bucket = bucket
        self.action = action
        self.metric = metric
        self.period = period
        self.sharing = sharing
        self.limit = limit
        self.createdAt = createdAt
    }
}
