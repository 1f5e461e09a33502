public import FoundationEssentials

/// The reservations of byte quotas that are not settled yet.
public struct SettlingBacklog: Sendable, Equatable {
    /// Number of reservations. An upload has one for each byte quota that it was charged to.
    public var reservations: Int64
    /// Bytes that they hold.
    public var bytes: Int64
    /// Number of reservations that can be settled: the credential has expired, and an upload of this size has had its
    /// time.
    public var due: Int64
    /// Since when the first of these has been due; `nil` if there are none.
    public var dueSince: Date?

    /// Creates a report.
    public init(reservations: Int64, bytes: Int64, due: Int64, dueSince: Date?) {
        self.reservations = reservations
        self.bytes = bytes
        self.due = due
        self.dueSince = dueSince
    }
}
