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

    /// Waits for the end of the task, also if the one who waits is cancelled. The task goes on if it takes longer.
    func wait(atMost time: Duration) async {
        await Task<Void, Never> {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { _ = try? await valueUnlessCancelled }
                group.addTask { try? await Task<Never, Never>.sleep(for: time) }
                await group.next()
                group.cancelAll()
            }
        }.value
    }
}
