import Synchronization

/// Runs one call at a time; what is asked for meanwhile goes out together in the next.
///
/// The first to ask makes the call itself, and one of those who waited makes the next. No task of its own is needed.
package final class Gathering<Item: Hashable & Sendable>: Sendable {
    private enum Turn: Sendable {
        case lead(Set<Item>)
        case done(Result<Void, GatewayError>)
        case again
    }

    private struct Round {
        var items: Set<Item> = []
        var waiters: [CheckedContinuation<Turn, Never>] = []
    }

    private struct State {
        var current: Round?
        /// What is asked for meanwhile, in the order of its turns.
        var waiting: [Round] = []
    }

    private let joinsCurrent: Bool
    private let maxItems: Int
    private let call: @Sendable (Set<Item>) async throws(GatewayError) -> Void
    private let state = Mutex(State())

    /// Sets up.
    ///
    /// - Parameters:
    ///   - joinsCurrent: Whether the call under way will do for items that it covers; otherwise only one that begins later.
    ///   - maxItems: Most items of different callers in one call; more are more calls.
    ///   - call: What to do for some items; never called twice at a time.
    package init(
        joinsCurrent: Bool, maxItems: Int = .max,
        call: @escaping @Sendable (Set<Item>) async throws(GatewayError) -> Void
    ) {
        self.joinsCurrent = joinsCurrent
        self.maxItems = maxItems
        self.call = call
    }

    /// Waits until a call that covers these items has ended.
    ///
    /// - Throws: What the call threw.
    package func run(_ items: Set<Item>) async throws(GatewayError) {
        while true {
            switch await turn(items) {
            case .done(let result): return try result.get()
            case .again: continue
            case .lead(let gathered):
                let result = await outcome(of: gathered)
                finish(result)
                return try result.get()
            }
        }
    }

    private func turn(_ items: Set<Item>) async -> Turn {
        await withCheckedContinuation { continuation in
            let leads = state.withLock { state in
                guard let current = state.current else {
                    state.current = Round(items: items)
                    return true
                }
                if joinsCurrent, items.isSubset(of: current.items) {
                    state.current?.waiters.append(continuation)
                } else if let last = state.waiting.indices.last,
                    state.waiting[last].items.count <= maxItems - items.count
                {
                    state.waiting[last].items.formUnion(items)
                    state.waiting[last].waiters.append(continuation)
                } else {
                    state.waiting.append(Round(items: items, waiters: [continuation]))
                }
                return false
            }
            if leads { continuation.resume(returning: .lead(items)) }
        }
    }

    private func outcome(of items: Set<Item>) async -> Result<Void, GatewayError> {
        do throws(GatewayError) {
            return .success(try await call(items))
        } catch {
            return .failure(error)
        }
    }

    private func finish(_ result: Result<Void, GatewayError>) {
        let (finished, leader, items) = state.withLock { state in
            let finished = state.current?.waiters ?? []
            state.current = state.waiting.isEmpty ? nil : state.waiting.removeFirst()
            let leader = state.current?.waiters.popLast()
            return (finished, leader, state.current?.items ?? [])
        }
        leader?.resume(returning: .lead(items))
        // A leader whose own request was cancelled fails alone.
        let turn: Turn = if case .failure = result, Task.isCancelled { .again } else { .done(result) }
        for waiter in finished { waiter.resume(returning: turn) }
    }
}
