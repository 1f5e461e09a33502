/// A value that the first caller makes, while others wait for it.
actor Once<Value: Sendable> {
    private enum State {
        case idle
        case running([CheckedContinuation<Void, Never>])
        case done(Result<Value, any Error>)
    }

    private var state = State.idle

    func value(_ make: @Sendable () async throws -> Value) async throws -> Value {
        switch state {
        case .done(let result): return try result.get()
        case .running:
            await withCheckedContinuation { continuation in
                guard case .running(let waiting) = state else { return continuation.resume() }
                state = .running(waiting + [continuation])
            }
            return try await value(make)
        case .idle:
            state = .running([])
            let result: Result<Value, any Error>
            do {
                result = .success(try await make())
            } catch {
                result = .failure(error)
            }
            guard case .running(let waiting) = state else { return try result.get() }
            state = .done(result)
            waiting.forEach { $0.resume() }
            return try result.get()
        }
    }
}
