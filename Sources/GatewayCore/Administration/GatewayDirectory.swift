public import Foundation

/// A gateway as it made itself known: one start of one process.
public struct KnownGateway: Sendable, Equatable {
    /// Identifier of that start.
    public var id: UUID
    /// Version of the program.
    public var version: String
    /// When it started, by its own clock.
    public var startedAt: Date
    /// When it was heard of last, by the database's clock.
    public var lastSeenAt: Date
    /// Whether that is so recent that it counts as running.
    public var isLive: Bool
    /// How far it has read the log of policy; `nil` before it read anything.
    public var position: PolicyPosition?
    /// Seconds by which its clock is ahead of the database's.
    public var clockDifference: Double
    /// Identifiers of its master keys, the one that seals first.
    public var masterKeyIDs: [String]

    /// Describes a gateway.
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

/// Finds the gateways of a database.
public protocol GatewayDirectory: Sendable {
    /// Reads a page of gateways, those that started last first.
    ///
    /// - Throws: `invalidArgument` for a filter or token that is not ours, `unavailable`.
    func gateways(_ query: ListQuery) async throws(GatewayError) -> Page<KnownGateway>
}
