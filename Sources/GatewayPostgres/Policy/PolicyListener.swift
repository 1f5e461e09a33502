import GatewayCore
public import LibPQ
public import Logging
public import ServiceLifecycle
import Synchronization

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
    private let patience: Duration
    private let schema: SchemaFit?
    private let servesSome: @Sendable () -> Bool
    private let onChange: @Sendable () async throws -> Void
    private let readings = Readings()
    /// Time after which a failed reading is repeated.
    private static let pause = Duration.seconds(1)

    /// What became of the readings.
    private final class Readings: Sendable {
        struct State {
            var haveSucceeded = false
            /// Why the last reading failed, and when the first one did since one succeeded; `nil` if it succeeded.
            var failure: (flaw: String, since: ContinuousClock.Instant)?
        }

        private let state = Mutex(State())

        var current: State { state.withLock { $0 } }

        func succeed() {
            state.withLock { $0 = State(haveSucceeded: true) }
        }

        func fail(_ error: any Error) {
            let isSlow = if case .slowDown? = error as? GatewayError { true } else { false }
            let flaw =
                isSlow
                ? "Reading policy takes too long: look for locks on its tables, and at the load of PostgreSQL."
                : "Policy cannot be read: the log of the gateway says why."
            state.withLock { state in
                state.failure = (flaw, state.failure?.since ?? .now)
            }
        }
    }

    /// Creates the service.
    ///
    /// - Parameters:
    ///   - configuration: How to reach the server. The listener keeps a connection of its own.
    ///   - interval: Time after which the log is read without a notification.
    ///   - patience: Time for which readings may fail before ``flaw`` says so.
    ///   - schema: Tells whether the schema fits. While it does not, it says so itself.
    ///   - logger: Receives messages about lost connections.
    ///   - servesSome: Tells whether somebody can be served by the rows in memory. Then ``flaw`` is `nil`, because a
    ///     lock or a lack of connections may concern all gateways at once.
    ///   - onChange: Called after a change, one call at a time, and again a second after it failed. It is also called
    ///     whenever listening begins, since earlier notifications were missed, and after each interval.
    public init(
        configuration: PostgresConfiguration, interval: Duration = .seconds(5), patience: Duration = .seconds(3),
        schema: SchemaFit? = nil, logger: Logger, servesSome: @escaping @Sendable () -> Bool = { false },
        onChange: @escaping @Sendable () async throws -> Void
    ) {
        listener = PostgresListener(configuration, channels: [Self.channel], logger: logger)
        self.interval = interval
        self.patience = patience
        self.schema = schema
        self.servesSome = servesSome
        self.onChange = onChange
    }

    /// Why policy cannot be read and nobody can be served; `nil` otherwise, or if it could be read until a moment ago.
    /// The text is safe to show to anyone.
    public var flaw: String? {
        guard schema?.isBroken != true, !servesSome() else { return nil }
        let state = readings.current
        guard let failure = state.failure else { return state.haveSucceeded ? nil : "Policy has not been read yet." }
        let isRecent = ContinuousClock.now - failure.since < patience
        return state.haveSucceeded && isRecent ? nil : failure.flaw
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
                        readings.succeed()
                    } catch {
                        // Whoever read has logged why.
                        readings.fail(error)
                        try? await Task.sleep(for: Self.pause)
                        signal.yield()
                    }
                }
                group.cancelAll()
            }
        }
    }
}
