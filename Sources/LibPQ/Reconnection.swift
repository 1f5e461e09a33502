import Logging

/// How a connection comes back: the attempt under way, and when the next may be made.
struct Reconnection {
    private let configuration: PostgresConfiguration
    private let logger: Logger
    private var attempt: ConnectAttempt?
    private var failures = 0
    private var nextAttempt: ContinuousClock.Instant?
    private var lastFailure: PostgresError?

    init(_ configuration: PostgresConfiguration, logger: Logger) {
        self.configuration = configuration
        self.logger = logger
    }

    /// How long a call waits for a connection while the server has been failing.
    private static let patience = Duration.milliseconds(250)

    /// The attempt under way, or a new one; an error where it is too early for one.
    mutating func begin(_ waiter: SocketWaiter) throws(PostgresError) -> ConnectAttempt {
        if let attempt { return attempt }
        if let nextAttempt, ContinuousClock.now < nextAttempt {
            guard case .unavailable(let reason)? = lastFailure else {
                throw .unavailable(reason: "the last attempt to connect failed")
            }
            throw .unavailable(reason: reason)
        }
        let attempt = ConnectAttempt(configuration, logger: logger, waiter: waiter)
        self.attempt = attempt
        return attempt
    }

    /// Until when to wait for it. During an outage nobody waits for long: the attempt goes on, and a
    /// call that finds it ended takes the connection.
    func limit(_ deadline: ContinuousClock.Instant) -> ContinuousClock.Instant {
        failures == 0 ? deadline : min(deadline, .now + Self.patience)
    }

    /// The attempt has ended, and its connection is being taken.
    mutating func end() {
        attempt = nil
    }

    /// The connection stands.
    mutating func succeed() {
        failures = 0
        nextAttempt = nil
    }

    /// There is no connection.
    mutating func fail(_ error: PostgresError) {
        failures += 1
        let delay = configuration.backoff.delay(afterFailures: failures, fraction: .random(in: 0..<1))
        nextAttempt = .now + delay
        lastFailure = error
        logger.report(
            error, "no connection to PostgreSQL", in: configuration.outage,
            metadata: ["failures": "\(failures)", "retry.delay": "\(delay)"])
    }
}
