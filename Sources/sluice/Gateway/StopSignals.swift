import Glibc
import Logging
import ServiceLifecycle
import UnixSignals

/// Signals that stop a process, caught from its start on.
///
/// The first process of a container has no default action for signals. Without this, one that is told to stop while it
/// waits for PostgreSQL would go on, and serve.
struct StopSignals: Sendable {
    /// What a signal does while the services are made.
    enum EarlyStop {
        /// It ends the process.
        case exit
        /// It cancels the making.
        case cancel
    }

    private enum Event: Sendable {
        case signal(UnixSignal)
        case made(Result<[any Service], any Error>)
        case ended(Result<Void, any Error>)
    }

    private let signals: UnixSignalsSequence
    private let early: EarlyStop
    private let logger: Logger

    /// Catches signals from now on.
    init(_ signals: [UnixSignal], early: EarlyStop, logger: Logger) async {
        self.signals = await UnixSignalsSequence(trapping: signals)
        self.early = early
        self.logger = logger
    }

    /// Makes services and runs them. A signal stops them gracefully once they are made; one that came before this call
    /// counts, too.
    func run(_ services: @escaping @Sendable () async throws -> [any Service]) async throws {
        let (events, continuation) = AsyncStream<Event>.makeStream()
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            defer { tasks.cancelAll() }
            tasks.addTask {
                for await signal in signals { continuation.yield(.signal(signal)) }
            }
            tasks.addTask { continuation.yield(.made(await Self.result(of: services))) }
            var group: ServiceGroup?
            var isTold = false
            for await event in events {
                switch event {
                case .signal(let signal):
                    isTold = true
                    tell(of: signal, early: group == nil)
                    if let group { await group.triggerGracefulShutdown() } else { tasks.cancelAll() }
                case .made(let result):
                    // What was cancelled may have failed in any way.
                    if isTold { return }
                    let made = ServiceGroup(running: try result.get(), logger: logger)
                    group = made
                    tasks.addTask { continuation.yield(.ended(await Self.result(of: made.run))) }
                case .ended(let result): return try result.get()
                }
            }
        }
    }

    private static func result<Value: Sendable>(of body: () async throws -> Value) async -> Result<Value, any Error> {
        do { return .success(try await body()) } catch { return .failure(error) }
    }

    private func tell(of signal: UnixSignal, early isEarly: Bool) {
        let metadata: Logger.Metadata = ["signal": "\(signal)"]
        logger.notice(isEarly ? "told to stop before it served" : "told to stop", metadata: metadata)
        if isEarly, early == .exit { exit(EXIT_SUCCESS) }
    }
}
