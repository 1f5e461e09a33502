import EventLoops
import Synchronization

/// Runs a call that blocks on a thread of its own, so that it holds up no other task.
///
/// - Returns: `nil` if the user asks for the end before the call returns. Its thread then goes on, until the process
///   ends or the call sees the flag: a store that is silent must not hold up Ctrl-C.
public func blocking<Value: Sendable>(
    until stop: StopFlag, _ call: @escaping @Sendable () -> Value
) async -> Value? {
    let first = FirstResult<Value>()
    let number = stop.whenSet { first.come(nil) }
    defer { stop.forget(number) }
    let isStarted = startThread { first.come(call()) }
    precondition(isStarted, "the system has no thread to spare")
    return await first.wait()
}

/// The first of two results.
private final class FirstResult<Value: Sendable>: Sendable {
    private enum State {
        case nothing
        case waiting(CheckedContinuation<Value?, Never>)
        case done(Value?)
    }

    private let state = Mutex(State.nothing)

    func come(_ value: Value?) {
        let waiting = state.withLock { state -> CheckedContinuation<Value?, Never>? in
            switch state {
            case .done: return nil
            case .nothing:
                state = .done(value)
                return nil
            case .waiting(let continuation):
                state = .done(value)
                return continuation
            }
        }
        waiting?.resume(returning: value)
    }

    func wait() async -> Value? {
        await withCheckedContinuation { continuation in
            let value = state.withLock { state -> Value?? in
                if case .done(let value) = state { return .some(value) }
                state = .waiting(continuation)
                return nil
            }
            if case .some(let value) = value { continuation.resume(returning: value) }
        }
    }
}
