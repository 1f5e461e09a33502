import GatewayCore
import Synchronization

/// Collects the answers to proposals handed in together, and wakes the caller after the last.
final class LedgerAnswers: Sendable {
    private struct State {
        var results: [Result<RecordVerdict, GatewayError>?]
        var missing: Int
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state: Mutex<State>

    /// Creates a collection that expects `count` answers.
    init(count: Int) {
        state = Mutex(State(results: Array(repeating: nil, count: count), missing: count))
    }

    /// Stores the answer to one proposal. Only the first answer counts.
    func put(_ result: Result<RecordVerdict, GatewayError>, at place: Int) {
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard state.results[place] == nil else { return nil }
            state.results[place] = result
            state.missing -= 1
            return state.missing == 0 ? state.waiter.take() : nil
        }
        waiter?.resume()
    }

    /// Waits until every proposal is answered. Returns the answers in the order of the proposals.
    func all() async -> [Result<RecordVerdict, GatewayError>] {
        await withCheckedContinuation { continuation in
            let isComplete = state.withLock { state in
                guard state.missing > 0 else { return true }
                state.waiter = continuation
                return false
            }
            if isComplete {
                continuation.resume()
            }
        }
        return state.withLock { $0.results.compactMap(\.self) }
    }
}
