import Glibc
import Logging
import ServiceLifecycle
import Synchronization
import UnixSignals

/// SIGTERM and SIGINT, caught from the start of a process on.
///
/// The first process of a container has no default action for signals. Without this, one that is told to stop while it
/// waits for PostgreSQL would go on, and serve.
final class StopSignals: Sendable {
    private let signals: UnixSignalsSequence
    private let logger: Logger
    private let running = Mutex<ServiceGroup?>(nil)

    /// Catches the signals from now on.
    init(logger: Logger) async {
        signals = await UnixSignalsSequence(trapping: .sigterm, .sigint)
        self.logger = logger
    }

    /// Makes services and runs them. A signal ends the process at once while they are made, and stops them gracefully
    /// afterwards.
    func run(_ services: () async throws -> [any Service]) async throws {
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            defer { tasks.cancelAll() }
            tasks.addTask {
                for await signal in self.signals { await self.stop(because: signal) }
            }
            let group = ServiceGroup(running: try await services(), stoppedBy: [], logger: logger)
            running.withLock { $0 = group }
            try await group.run()
        }
    }

    private func stop(because signal: UnixSignal) async {
        let group = running.withLock { $0 }
        logger.notice(
            group == nil ? "told to stop before it served" : "told to stop", metadata: ["signal": "\(signal)"])
        guard let group else { exit(EXIT_SUCCESS) }
        await group.triggerGracefulShutdown()
    }
}
