/// What a NOTIFY said.
public struct PostgresNotification: Sendable, Equatable {
    /// The channel.
    public let channel: String
    /// The payload; empty where NOTIFY gave none.
    public let payload: String
}
