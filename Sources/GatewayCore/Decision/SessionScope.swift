/// What a session may do: allowed areas, and areas inside them that are denied, per action.
public struct SessionScope: Sendable, Equatable {
    /// Areas of one action.
    struct Areas: Hashable, Sendable {
        /// None of them covers another.
        var allowed: [KeyArea]
        /// Each lies inside an allowed one, and is smaller.
        var denied: [KeyArea]
    }

    /// The bucket.
    public let bucket: BucketName
    /// Never empty, and none without an allowed area.
    let areas: [Action: Areas]

    /// What is permitted.
    public var actions: Set<Action> { Set(areas.keys) }

    /// Prefixes below which an action is permitted; whole keys do not end in `/`.
    public func allowed(_ action: Action) -> [ExactText] { areas[action]?.allowed.map(\.prefix) ?? [] }

    /// Prefixes below which it is refused all the same.
    public func denied(_ action: Action) -> [ExactText] { areas[action]?.denied.map(\.prefix) ?? [] }
}
