import Synchronization

/// Whether the user asked a transfer to end.
public final class StopFlag: Sendable {
    private struct State {
        var isSet = false
        var next = 0
        var actions: [Int: @Sendable () -> Void] = [:]
    }

    private let state = Mutex(State())

    /// Creates a flag that is not set.
    public init() {}

    /// Asks for the end.
    public func set() {
        let actions = state.withLock { state in
            state.isSet = true
            return exchange(&state.actions, with: [:])
        }
        for action in actions.values { action() }
    }

    /// Whether the end was asked for.
    public var isSet: Bool { state.withLock { $0.isSet } }

    /// Registers what to do when the end is asked for, which may be at once.
    ///
    /// - Returns: A number for ``forget(_:)``.
    func whenSet(_ action: @escaping @Sendable () -> Void) -> Int {
        let number = state.withLock { state -> Int? in
            guard !state.isSet else { return nil }
            state.next += 1
            state.actions[state.next] = action
            return state.next
        }
        if number == nil { action() }
        return number ?? 0
    }

    /// Forgets what was registered.
    func forget(_ number: Int) { state.withLock { _ = $0.actions.removeValue(forKey: number) } }
}
