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

    /// The longest prefix that all allowed areas share: empty, a text that ends in `/`, or one whole key.
    var commonPrefix: ExactText {
        let prefixes = Set(areas.values.flatMap { $0.allowed.map(\.prefix) })
        guard let first = prefixes.first, prefixes.count > 1 else { return prefixes.first ?? ExactText("") }
        var shared = first.rawValue.utf8[...]
        for prefix in prefixes.dropFirst() {
            let count = zip(shared, prefix.rawValue.utf8).prefix { $0 == $1 }.count
            shared = shared.prefix(count)
        }
        let end = shared.lastIndex(of: UInt8(ascii: "/")).map { shared.index(after: $0) } ?? shared.startIndex
        return ExactText(String(Substring(shared[..<end])))
    }

    /// Returns the prefixes below which an action is permitted. A prefix that is not empty and does not end in `/` is a
    /// whole key.
    public func allowed(_ action: Action) -> [ExactText] { areas[action]?.allowed.map(\.prefix) ?? [] }

    /// Returns the prefixes below which an action is refused although a prefix above is permitted.
    public func denied(_ action: Action) -> [ExactText] { areas[action]?.denied.map(\.prefix) ?? [] }
}
