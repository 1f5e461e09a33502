public import FoundationEssentials

/// The amount that an issuance uses of one quota.
public struct QuotaCharge: Sendable, Equatable {
    /// The quota.
    public var quota: Quota
    /// The principal whose use is counted: the caller, or the quota's principal if the quota is shared.
    public var holder: Principal
    /// URLs or bytes; at least 1 for URLs, 0 or more for bytes.
    public var amount: Int64

    /// Creates a charge.
    public init(quota: Quota, holder: Principal, amount: Int64) {
        self.quota = quota
        self.holder = holder
        self.amount = amount
    }
}

/// The amount that is left of a quota.
public struct QuotaRemainder: Sendable, Equatable {
    /// Identifier of the quota.
    public var quotaID: UUID
    /// URLs or bytes left in the period; negative if the limit was lowered below what was used.
    public var remaining: Int64
    /// Seconds until the next period begins; `nil` for the period `total`.
    public var resetsIn: Int?

    /// Creates a remainder.
    public init(quotaID: UUID, remaining: Int64, resetsIn: Int?) {
        self.quotaID = quotaID
        self.remaining = remaining
        self.resetsIn = resetsIn
    }
}

/// A quota with the amount that one holder has left.
public struct QuotaBalance: Sendable, Equatable {
    /// The quota.
    public var quota: Quota
    /// The amount that is left.
    public var remainder: QuotaRemainder

    /// Creates a balance.
    public init(quota: Quota, remainder: QuotaRemainder) {
        self.quota = quota
        self.remainder = remainder
    }
}
