import Synchronization

/// Holds tasks back until a test lets them through, and reports arrivals.
public final class Latch: Sendable {
    private struct State {
        var isOpen = false
        var arrivals = 0
        var waiting: [CheckedContinuation<Void, Never>] = []
        var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())

    /// Makes a latch that is closed.
    public init() {}

    /// Waits for ``open()``, and ignores cancellation.
    public func wait() async {
        await withCheckedContinuation { continuation in
            let ready = state.withLock { state -> [CheckedContinuation<Void, Never>] in
                state.arrivals += 1
                var ready = state.watchers.filter { $0.count <= state.arrivals }.map(\.continuation)
                state.watchers.removeAll { $0.count <= state.arrivals }
                if state.isOpen { ready.append(continuation) } else { state.waiting.append(continuation) }
                return ready
            }
            for continuation in ready { continuation.resume() }
        }
    }

    /// Lets everybody through from now on.
    public func open() {
        let waiting = state.withLock { state in
            state.isOpen = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Waits until `count` tasks have arrived at ``wait()``.
    public func arrival(_ count: Int = 1) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.arrivals < count { state.watchers.append((count, continuation)) }
                return state.arrivals >= count
            }
            if isThere { continuation.resume() }
        }
    }
}
