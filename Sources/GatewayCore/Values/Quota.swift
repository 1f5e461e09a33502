public import Foundation

/// A limit on what may be issued in a period.
public struct Quota: Sendable, Equatable {
    /// What is counted.
    public enum Metric: String, Sendable, CaseIterable, Codable {
        /// URLs and other credentials issued.
        case urls
        /// Bytes that issued uploads may write; only for `PutObject`.
        case bytes
    }

    /// The period, by the database's clock in UTC.
    public enum Period: String, Sendable, CaseIterable, Codable {
        case minute
        case hour
        case day
        case month
        /// Never begins anew.
        case total
    }

    /// Whose use adds up.
    public enum Sharing: String, Sendable, CaseIterable, Codable {
        /// Every user whom the principal covers has the whole limit.
        case each
        /// All users whom the principal covers share the limit.
        case shared
    }

    /// Identifier.
    public var id: UUID
    /// Whom it limits.
    public var principal: Principal
    /// The bucket it is for; all where absent.
    public var bucket: BucketName?
    /// The action it is for; both where absent.
    public var action: Action?
    /// What is counted.
    public var metric: Metric
    /// The period.
    public var period: Period
    /// Whose use adds up.
    public var sharing: Sharing
    /// Most that may be used in a period: URLs or bytes; 0 refuses everything.
    public var limit: Int64
    /// Set by the store of rows.
    public var createdAt: Date

    /// Puts a quota together.
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
