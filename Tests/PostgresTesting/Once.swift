/// A value that the first caller makes, while others wait for it.
public actor Once<Value: Sendable> {
    private enum State {
        case idle
        case running([CheckedContinuation<Void, Never>])
        case done(Result<Value, any Error>)
    }

    private var state = State.idle

    /// Begins without a value.
    public init() {}

    /// The value, if it has been made.
    public var made: Value? {
        guard case .done(let result) = state else { return nil }
        return try? result.get()
    }

    /// Returns the value, which the first call makes. Each call throws what making it threw.
    public func value(_ make: @Sendable () async throws -> Value) async throws -> Value {
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
