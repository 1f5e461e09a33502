public import FoundationEssentials

/// A gateway as it registered itself: one start of one process.
public struct KnownGateway: Sendable, Equatable {
    /// Identifier of this start of the process.
    public var id: UUID
    /// Version of the gateway program.
    public var version: String
    /// When the gateway started, by its own clock.
    public var startedAt: Date
    /// When the gateway last reported, by the database's clock.
    public var lastSeenAt: Date
    /// Whether the last report is recent enough for the gateway to count as running.
    public var isLive: Bool
    /// The position up to which it has read the policy log; `nil` before its first read.
    public var position: PolicyPosition?
    /// Seconds by which its clock is ahead of the database's.
    public var clockDifference: Double
    /// Ids of its master keys; the first is the one that seals.
    public var masterKeyIDs: [String]

    /// Creates an entry for a gateway.
    public init(
        id: UUID, version: String, startedAt: Date, lastSeenAt: Date, isLive: Bool, position: PolicyPosition?,
        clockDifference: Double, masterKeyIDs: [String]
    ) {
        self.id = id
        self.version = version
        self.startedAt = startedAt
        self.lastSeenAt = lastSeenAt
        self.isLive = isLive
        self.position = position
        self.clockDifference = clockDifference
        self.masterKeyIDs = masterKeyIDs
    }
}

/// Lists the gateways of a database.
public protocol GatewayDirectory: Sendable {
    /// Reads a page of gateways, most recently started first.
    ///
    /// - Throws: `invalidArgument` for an unknown filter or an invalid token, `unavailable`.
    func gateways(_ query: ListQuery) async throws(GatewayError) -> Page<KnownGateway>
}
