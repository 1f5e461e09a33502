public import LibPQ
public import Logging
public import ServiceLifecycle

/// Listens for policy changes and triggers reading of the policy log, also at an interval of its own.
///
/// Listening only saves time, since each decision is proved when it is recorded. But nothing proves a refusal of a
/// caller who is not authenticated, and notifications may be lost on the way without a word, so the log is read without
/// them too. Changes that arrive during a reading are covered by one further reading.
public struct PolicyListener: Service {
    /// Channel on which `append_policy_log` notifies.
    static let channel = "sluice_policy"

    private let listener: PostgresListener
    private let interval: Duration
    private let onChange: @Sendable () async throws -> Void
    /// Time after which a failed reading is repeated.
    private static let pause = Duration.seconds(1)

    /// Creates the service.
    ///
    /// - Parameters:
    ///   - configuration: How to reach the server. The listener keeps a connection of its own.
    ///   - interval: Time after which the log is read without a notification.
    ///   - logger: Receives messages about lost connections.
    ///   - onChange: Called after a change, one call at a time, and again a second after it failed. It is also called
    ///     whenever listening begins, since earlier notifications were missed, and after each interval.
    public init(
        configuration: PostgresConfiguration, interval: Duration = .seconds(5), logger: Logger,
        onChange: @escaping @Sendable () async throws -> Void
    ) {
        listener = PostgresListener(configuration, channels: [Self.channel], logger: logger)
        self.interval = interval
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
                group.addTask {
                    while (try? await Task.sleep(for: interval)) != nil { signal.yield() }
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
