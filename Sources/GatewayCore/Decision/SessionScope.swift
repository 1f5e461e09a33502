/// What a session may do: allowed areas and denied areas inside them, per action.
public struct SessionScope: Sendable, Equatable {
    /// The areas of one action.
    struct Areas: Hashable, Sendable {
        /// Allowed areas. None of them covers another.
        var allowed: [KeyArea]
        /// Denied areas. Each lies inside an allowed area and is smaller.
        var denied: [KeyArea]
    }

    /// The bucket.
    public let bucket: BucketName
    /// The areas by action; never empty. Each action has at least one allowed area.
    let areas: [Action: Areas]

    /// The permitted actions.
    public var actions: Set<Action> { Set(areas.keys) }

    /// Returns the prefixes below which an action is permitted. A prefix that is not empty and does not end in `/` is a
    /// whole key.
    public func allowed(_ action: Action) -> [ExactText] { areas[action]?.allowed.map(\.prefix) ?? [] }

    /// Returns the prefixes below which an action is refused although a prefix above is permitted.
    public func denied(_ action: Action) -> [ExactText] { areas[action]?.denied.map(\.prefix) ?? [] }
}
