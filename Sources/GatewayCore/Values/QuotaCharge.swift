public import Foundation

/// What an issuance takes from one quota.
public struct QuotaCharge: Sendable, Equatable {
    /// The quota.
    public var quota: Quota
    /// Whose use is counted: the caller, or the quota's principal where its use is shared.
    public var holder: Principal
    /// URLs or bytes; at least 1 for URLs, 0 or more for bytes.
    public var amount: Int64

    /// Puts a charge together.
    public init(quota: Quota, holder: Principal, amount: Int64) {
        self.quota = quota
        self.holder = holder
        self.amount = amount
    }
}

/// What is left of a quota.
public struct QuotaRemainder: Sendable, Equatable {
    /// The quota.
    public var quotaID: UUID
    /// URLs or bytes left in the period.
    public var remaining: Int64
    /// Seconds until the next period begins; `nil` for a total.
    public var resetsIn: Int?

    /// Puts it together.
    public init(quotaID: UUID, remaining: Int64, resetsIn: Int?) {
        self.quotaID = quotaID
        self.remaining = remaining
        self.resetsIn = resetsIn
    }
}

/// A quota and what is left of it for one holder.
public struct QuotaBalance: Sendable, Equatable {
    /// The quota.
    public var quota: Quota
    /// What is left.
    public var remainder: QuotaRemainder

    /// Pairs them.
    public init(quota: Quota, remainder: QuotaRemainder) {
        self.quota = quota
        self.remainder = remainder
    }
}
