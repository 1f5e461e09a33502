import ServiceLifecycle

/// Runs a round at once, then another each time the interval has passed since the last one ended. Stops when the
/// service shuts down.
func doRounds(every interval: Duration, _ round: @escaping @Sendable () async -> Void) async {
    await cancelWhenGracefulShutdown {
        repeat {
            await round()
        } while (try? await Task.sleep(for: interval)) != nil
    }
}
