/// The quota that refused a request, and when it has room again.
public struct QuotaRefusal: Equatable, Sendable {
    /// Identifier of the quota, as admins see it.
    public let quotaID: String
    /// The metric: URLs or bytes.
    public let metric: Quota.Metric
    /// The period that is full.
    public let period: Quota.Period
    /// Limit per period, in units of the metric.
    public let limit: Int64
    /// Units of the metric that are left in this period.
    public let remaining: Int64
    /// Seconds until the next period begins; `nil` for the period `total`.
    public let resetsIn: Int?

    /// Creates the description of a refusal.
    public init(
        quotaID: String, metric: Quota.Metric, period: Quota.Period, limit: Int64, remaining: Int64, resetsIn: Int?
    ) {
        self.quotaID = quotaID
        self.metric = metric
        self.period = period
        self.limit = limit
        self.remaining = remaining
        self.resetsIn = resetsIn
    }
}
