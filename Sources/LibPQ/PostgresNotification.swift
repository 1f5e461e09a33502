/// A notification that a NOTIFY sent.
public struct PostgresNotification: Sendable, Equatable {
    /// The channel.
    public let channel: String
    /// The payload; empty if NOTIFY had none.
    public let payload: String

    /// Creates a notification.
    public init(channel: String, payload: String) {
        self.channel = channel
        self.payload = payload
    }
}
