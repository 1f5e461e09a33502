public import LibPQ
public import Logging
public import ServiceLifecycle

/// Hears of changes of policy, and has the log of them read.
///
/// Hearing is for speed only: a decision is proved when it is recorded. Changes that come while the log is being read
/// are taken up together in one more reading.
public struct PolicyListener: Service {
    /// Channel on which `append_policy_log` notifies.
    static let channel = "sluice_policy"

    private let listener: PostgresListener
    private let onChange: @Sendable () async -> Void

    /// Makes the service.
    ///
    /// - Parameters:
    ///   - configuration: How to reach the server; the listener keeps a connection of its own.
    ///   - logger: Told of lost connections.
    ///   - onChange: Called after a change, and whenever listening began, since what was sent before went unheard; one
    ///     call at a time.
    public init(configuration: PostgresConfiguration, logger: Logger, onChange: @escaping @Sendable () async -> Void) {
        listener = PostgresListener(configuration, channels: [Self.channel], logger: logger)
        self.onChange = onChange
    }

    /// Listens until shut down.
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
                    await onChange()
                }
                group.cancelAll()
            }
        }
    }
}
