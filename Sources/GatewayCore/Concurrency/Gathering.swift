import Synchronization

/// Runs one call at a time. Items that are requested during a call go out together in the next one. All that wait for a
/// call get its output.
///
/// The first caller makes the call itself, and one of the waiting callers makes the next one. No separate task is
/// needed.
package final class Gathering<Item: Hashable & Sendable, Output: Sendable>: Sendable {
    private enum Turn: Sendable {
        case lead(Set<Item>)
        case done(Result<Output, GatewayError>)
        case again
    }

    private struct Round {
        var items: Set<Item> = []
        var waiters: [CheckedContinuation<Turn, Never>] = []
    }

    private struct State {
        var current: Round?
        /// Rounds that wait for their turn, in order.
        var waiting: [Round] = []
    }

    private let joinsCurrent: Bool
    private let maxItems: Int
    private let call: @Sendable (Set<Item>) async throws(GatewayError) -> Output
    private let state = Mutex(State())

    /// Creates a gathering.
    ///
    /// - Parameters:
    ///   - joinsCurrent: Whether a caller may join the call in progress if that covers all its items. Otherwise it
    ///     waits for a later call.
    ///   - maxItems: Largest number of items from different callers in one call. More items are split into several
    ///     calls.
    ///   - call: The operation for a set of items; never runs twice at the same time.
    package init(
        joinsCurrent: Bool, maxItems: Int = .max,
        call: @escaping @Sendable (Set<Item>) async throws(GatewayError) -> Output
    ) {
        self.joinsCurrent = joinsCurrent
        self.maxItems = maxItems
        self.call = call
    }

    /// Waits until a call that covers these items has ended.
    ///
    /// - Returns: The output of that call, which may be about other items too.
    /// - Throws: The error of that call.
    package func run(_ items: Set<Item>) async throws(GatewayError) -> Output {
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

    private func outcome(of items: Set<Item>) async -> Result<Output, GatewayError> {
        do throws(GatewayError) {
            return .success(try await call(items))
        } catch {
            return .failure(error)
        }
    }

    private func finish(_ result: Result<Output, GatewayError>) {
        let (finished, leader, items) = state.withLock { state in
            let finished = state.current?.waiters ?? []
            state.current = state.waiting.isEmpty ? nil : state.waiting.removeFirst()
            let leader = state.current?.waiters.popLast()
            return (finished, leader, state.current?.items ?? [])
        }
        leader?.resume(returning: .lead(items))
        // If the leader's own task was cancelled, only the leader fails; the others try again.
        let turn: Turn = if case .failure = result, Task.isCancelled { .again } else { .done(result) }
        for waiter in finished { waiter.resume(returning: turn) }
    }
}
