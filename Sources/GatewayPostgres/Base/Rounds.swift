import ServiceLifecycle

/// Does a round at once and then another each time an interval has passed since the last one, until the service is shut
/// down.
func doRounds(every interval: Duration, _ round: @escaping @Sendable () async -> Void) async {
    await cancelWhenGracefulShutdown {
        repeat {
            await round()
        } while (try? await Task.sleep(for: interval)) != nil
    }
}
