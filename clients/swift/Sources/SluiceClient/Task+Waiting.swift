extension Task {
    /// What the task results in, or a `CancellationError` as soon as the one who waits is cancelled. The task itself
    /// goes on.
    var valueUnlessCancelled: Success {
        get async throws {
            let (results, result) = AsyncThrowingStream.makeStream(of: Success.self)
            Task<Void, Never> {
                do {
                    result.yield(try await value)
                    result.finish()
                } catch {
                    result.finish(throwing: error)
                }
            }
            // The stream ends early for one who is cancelled.
            for try await value in results { return value }
            throw _Concurrency.CancellationError()
        }
    }
}
