/// What a NOTIFY said.
public struct PostgresNotification: Sendable, Equatable {
    /// The channel.
    public let channel: String
    /// The payload; empty where NOTIFY gave none.
    public let payload: String

    /// Puts a notification together.
    public init(channel: String, payload: String) {
        self.channel = channel
        self.payload = payload
    }
}
