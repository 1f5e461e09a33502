public import FoundationEssentials

/// The reservations of byte quotas that are not settled yet.
public struct SettlingBacklog: Sendable, Equatable {
    /// Number of reservations. An upload has one for each byte quota that it was charged to.
    public var reservations: Int64
    /// Bytes that they hold.
    public var bytes: Int64
    /// Number of reservations whose credential has expired, so that they can be settled.
    public var expired: Int64
    /// When the first of these expired; `nil` if there are none.
    public var expiredSince: Date?

    /// Creates a report.
    public init(reservations: Int64, bytes: Int64, expired: Int64, expiredSince: Date?) {
        self.reservations = reservations
        self.bytes = bytes
        self.expired = expired
        self.expiredSince = expiredSince
    }
}
