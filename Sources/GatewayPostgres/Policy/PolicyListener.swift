public import LibPQ
public import Logging
public import ServiceLifecycle

/// Listens for policy changes and triggers reading of the policy log.
///
/// Listening only saves time, since each decision is proved when it is recorded. Changes that arrive during a reading
/// are covered by one further reading.
public struct PolicyListener: Service {
    /// Channel on which `append_policy_log` notifies.
    static let channel = "sluice_policy"

    private let listener: PostgresListener
    private let onChange: @Sendable () async throws -> Void
    /// Time after which a failed reading is repeated.
    private static let pause = Duration.seconds(1)

    /// Creates the service.
    ///
    /// - Parameters:
    ///   - configuration: How to reach the server. The listener keeps a connection of its own.
    ///   - logger: Receives messages about lost connections.
    ///   - onChange: Called after a change, one call at a time, and again a second after it failed. It is also called
    ///     whenever listening begins, since earlier notifications were missed.
    public init(
        configuration: PostgresConfiguration, logger: Logger, onChange: @escaping @Sendable () async throws -> Void
    ) {
        listener = PostgresListener(configuration, channels: [Self.channel], logger: logger)
        self.onChange = onChange
    }

    /// Listens until the service shuts down.
    public func run() async {
        await cancelWhenGracefulShutdown {
            let (signals, signal) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
            await withTaskGroup { group in
                group.addTask {
                    for await _ in listener {
                        signal.yield()
                    }
                    signal.finish()
                }
                for await _ in signals {
                    do {
                        try await onChange()
                    } catch {
                        // Whoever read has logged why.
                        try? await Task.sleep(for: Self.pause)
                        signal.yield()
                    }
                }
                group.cancelAll()
            }
        }
    }
}
