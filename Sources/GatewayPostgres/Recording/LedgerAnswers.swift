import GatewayCore
import Synchronization

/// The answers to proposals that were handed in together, and who waits for the last of them.
final class LedgerAnswers: Sendable {
    private struct State {
        var results: [Result<RecordVerdict, GatewayError>?]
        var missing: Int
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state: Mutex<State>

    /// Expects so many answers.
    init(count: Int) {
        state = Mutex(State(results: Array(repeating: nil, count: count), missing: count))
    }

    /// Takes the answer to one proposal; only the first counts.
    func put(_ result: Result<RecordVerdict, GatewayError>, at place: Int) {
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard state.results[place] == nil else { return nil }
            state.results[place] = result
            state.missing -= 1
            return state.missing == 0 ? state.waiter.take() : nil
        }
        waiter?.resume()
    }

    /// Waits until every proposal is answered; gives the answers in the order of the proposals.
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
