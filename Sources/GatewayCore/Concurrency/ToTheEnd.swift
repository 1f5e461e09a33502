/// Does work to its end and waits for it, even if the caller's own task is cancelled: its client has gone, or had to
/// wait for too long, and what the request began is put in order all the same.
package func toTheEnd(_ work: @escaping @Sendable () async -> Void) async {
    let task = Task { await work() }
    await task.value
}

/// Does work and returns its result, even if the caller's own task is cancelled meanwhile. From then on, the work has
/// some time left, after which it is cancelled too.
package func toTheEnd<Value: Sendable>(
    within patience: Duration, _ work: @escaping @Sendable () async throws(GatewayError) -> Value
) async throws(GatewayError) -> Value {
    let task = Task { () async -> Result<Value, GatewayError> in
        do throws(GatewayError) {
            return .success(try await work())
        } catch {
            return .failure(error)
        }
    }
    let result = await withTaskCancellationHandler {
        await task.value
    } onCancel: {
        Task {
            try? await Task.sleep(for: patience)
            task.cancel()
        }
    }
    return try result.get()
}
