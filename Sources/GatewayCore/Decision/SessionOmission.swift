/// What a session goes without, though it was or could have been asked for.
public struct SessionOmission: Sendable, Equatable {
    /// The action.
    public let action: Action
    /// Below what: a prefix, or a whole key.
    public let prefix: ExactText
    /// Why: what the grant misses, or `accessDenied` where none permits the action at all.
    public let reason: GatewayError
}
