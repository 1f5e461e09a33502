/// Does work to its end and waits for it, even if the caller's own task is cancelled: its client has gone, or had to
/// wait for too long, and what the request began is put in order all the same.
package func toTheEnd(_ work: @escaping @Sendable () async -> Void) async {
    let task = Task { await work() }
    await task.value
}
