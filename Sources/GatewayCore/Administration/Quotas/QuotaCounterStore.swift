public import FoundationEssentials

/// The use of a quota in its current period, by the database's clock.
public struct QuotaUseSummary: Sendable, Equatable {
    /// Start of the period; `nil` for a total quota, which never resets.
    public var periodStart: Date?
    /// Start of the next period; `nil` for a total quota.
    public var resetsAt: Date?
    /// URLs or bytes used by all holders together.
    public var used: Int64
    /// The largest use by a single holder.
    public var highest: Int64
    /// Number of holders with any use.
    public var holders: Int64

    /// Creates a summary.
    public init(periodStart: Date?, resetsAt: Date?, used: Int64, highest: Int64, holders: Int64) {
        self.periodStart = periodStart
        self.resetsAt = resetsAt
        self.used = used
        self.highest = highest
        self.holders = holders
    }
}

/// One holder's use of a quota in its current period.
public struct QuotaUse: Sendable, Equatable {
    /// A row, as the last of a page.
    public struct Place: Sendable {
        /// URLs or bytes used.
        public var used: Int64
        /// The holder.
        public var holder: String
    }

    /// A user, or the quota's principal if its members share the quota.
    public var holder: Principal
    /// URLs or bytes used.
    public var used: Int64
    /// The part of `used` that is reserved for uploads that may still arrive, in bytes.
    public var reserved: Int64

    /// Creates an entry for a holder.
    public init(holder: Principal, used: Int64, reserved: Int64) {
        self.holder = holder
        self.used = used
        self.reserved = reserved
    }
}

/// The holders whose counters a reset concerns.
public enum QuotaHolders: Sendable, Equatable {
    /// One holder.
    case one(Principal)
    /// All holders.
    case all

    /// Checks what a client sent: a reset names one holder, or says that it is for all.
    ///
    /// - Throws: `invalidArgument` for `holder`.
    public init(holder: Principal?, isForAll: Bool) throws(GatewayError) {
        switch (holder, isForAll) {
        case (let holder?, false): self = .one(holder)
        case (nil, true): self = .all
        default: throw .invalidArgument(field: "holder", reason: "Send either 'holder' or 'all'.")
        }
    }
}

/// The result of a reset.
public struct QuotaReset: Sendable, Equatable {
    /// Number of counters set to zero.
    public var holders: Int64
    /// Total of URLs or bytes in those counters before the reset.
    public var released: Int64

    /// Creates the result of a reset.
    public init(holders: Int64, released: Int64) {
        self.holders = holders
        self.released = released
    }
}

/// Reads and resets the use of quotas.
public protocol QuotaCounterStore: Sendable {
    /// Summarizes the use of quotas; ids of quotas that do not exist are left out.
    ///
    /// - Throws: `unavailable`.
    func summaries(of quotas: [UUID]) async throws(GatewayError) -> [UUID: QuotaUseSummary]

    /// Reads holders, largest use first, for an admin without limits.
    ///
    /// - Parameters:
    ///   - quota: The quota.
    ///   - holder: The only holder to read; `nil` for all.
    ///   - place: The row after which to begin; `nil` for the first.
    ///   - limit: Maximum number of rows.
    /// - Throws: `unavailable`.
    func uses(
        of quota: UUID, holder: String?, after place: QuotaUse.Place?, limit: Int
    ) async throws(GatewayError) -> [QuotaUse]

    /// Sets the counters of the current period to zero, for some holders. Bytes reserved at that moment are
    /// not given back a second time when they settle.
    ///
    /// - Throws: `notFound`, `slowDown` if the counters are too busy, `unavailable`.
    func reset(
        _ quota: UUID, of holders: QuotaHolders, by change: ChangeContext
    ) async throws(GatewayError) -> QuotaReset
}
