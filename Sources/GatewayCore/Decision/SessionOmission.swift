/// Something that a session leaves out although it was requested, or could have been.
public struct SessionOmission: Sendable, Equatable {
    /// The action.
    public let action: Action
    /// The keys that are left out: a prefix or a whole key.
    public let prefix: ExactText
    /// The reason: why the grant cannot be used, or `accessDenied` if no grant permits the action at all.
    public let reason: GatewayError
}
