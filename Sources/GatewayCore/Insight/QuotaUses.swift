public import Foundation

/// How much of a quota is used in its current period, by the database's clock.
public struct QuotaUseSummary: Sendable, Equatable {
    /// When the period began; `nil` for a total, which never begins anew.
    public var periodStart: Date?
    /// When the next one begins; `nil` for a total.
    public var resetsAt: Date?
    /// URLs or bytes, of all holders together.
    public var used: Int64
    /// The most that one holder used.
    public var highest: Int64
    /// Holders that used anything.
    public var holders: Int64

    /// Puts a summary together.
    public init(periodStart: Date?, resetsAt: Date?, used: Int64, highest: Int64, holders: Int64) {
        self.periodStart = periodStart
        self.resetsAt = resetsAt
        self.used = used
        self.highest = highest
        self.holders = holders
    }
}

/// What one holder used of a quota in its current period.
public struct QuotaUse: Sendable, Equatable {
    /// A user, or the quota's principal where its use is shared.
    public var holder: Principal
    /// URLs or bytes.
    public var used: Int64
    /// Of those, bytes that are reserved for uploads which may still arrive.
    public var reserved: Int64

    /// Puts it together.
    public init(holder: Principal, used: Int64, reserved: Int64) {
        self.holder = holder
        self.used = used
        self.reserved = reserved
    }
}

/// What a reset gave back.
public struct QuotaReset: Sendable, Equatable {
    /// Counters that were set to zero.
    public var holders: Int64
    /// URLs or bytes that they said together.
    public var released: Int64

    /// Puts it together.
    public init(holders: Int64, released: Int64) {
        self.holders = holders
        self.released = released
    }
}

/// Reads and resets the use of quotas.
public protocol QuotaUses: Sendable {
    /// Sums up the use of quotas; those that do not exist are left out.
    ///
    /// - Throws: `unavailable`.
    func summaries(of quotas: [UUID]) async throws(GatewayError) -> [UUID: QuotaUseSummary]

    /// Reads a page of holders, who used most first; the filter `holder` leaves one.
    ///
    /// - Throws: `invalidArgument` for a filter or token that is not ours, `unavailable`.
    func uses(of quota: UUID, _ query: ListQuery) async throws(GatewayError) -> Page<QuotaUse>

    /// Sets the counters of the current period to zero, of one holder or of all; what is reserved at that moment is not given
    /// back a second time when it settles.
    ///
    /// - Throws: `notFound`, `slowDown` where counters are in use too much, `unavailable`.
    func reset(
        _ quota: UUID, of holder: Principal?, by change: ChangeContext
    ) async throws(GatewayError) -> QuotaReset
}
