import Figures
import Logging

/// The state of reconnecting: the current attempt, and when the next one may start.
struct Reconnection {
    private let configuration: PostgresConfiguration
    private let logger: Logger
    private var attempt: ConnectAttempt?
    private var failures = 0
    private var nextAttempt: ContinuousClock.Instant?
    private var failed = ContinuousClock.now
    private var lastFailure: PostgresError?

    init(_ configuration: PostgresConfiguration, logger: Logger) {
        self.configuration = configuration
        self.logger = logger
    }

    /// How long a call waits for a connection while attempts have been failing.
    private static let patience = Duration.milliseconds(250)

    /// Returns the current attempt, or starts a new one. Throws if it is too early for one.
    mutating func begin(_ waiter: SocketWaiter) throws(PostgresError) -> ConnectAttempt {
        if let attempt, !attempt.isObsolete, !attempt.isOutdated {
            guard let failure = attempt.failure else { return attempt }
            // It failed a moment ago, when nobody waited for it any more.
            fail(failure.error, at: failure.instant)
        }
        attempt = nil
        if let nextAttempt, ContinuousClock.now < nextAttempt,
            configuration.primary?.hasReturned(since: failed) != true
        {
            guard case .unavailable(let reason)? = lastFailure else {
                throw .unavailable(reason: "the last attempt to connect failed")
            }
            throw .unavailable(reason: reason)
        }
        // A connection that is missing may be one that has just been lost.
        configuration.primary?.doubt()
        let attempt = try ConnectAttempt(configuration, logger: logger, waiter: waiter)
        self.attempt = attempt
        return attempt
    }

    /// Returns how long to wait for the attempt. During an outage, no call waits long: the attempt continues, and a
    /// later call that finds it finished takes the connection.
    func limit(_ deadline: ContinuousClock.Instant) -> ContinuousClock.Instant {
        failures == 0 ? deadline : min(deadline, .now + Self.patience)
    }

    /// Records that the attempt has ended and its connection is being taken.
    mutating func end() {
        attempt = nil
    }

    /// Records that the connection is established.
    mutating func succeed() {
        failures = 0
        nextAttempt = nil
        configuration.outage?.connections.add()
    }

    /// Records a failure to connect, and schedules the next attempt.
    mutating func fail(_ error: PostgresError, at instant: ContinuousClock.Instant = .now) {
        failures += 1
        configuration.outage?.failedConnections.add()
        let delay = configuration.backoff.delay(afterFailures: failures, fraction: .random(in: 0..<1))
        failed = instant
        nextAttempt = failed + delay
        configuration.primary?.doubt()
        lastFailure = error
        let isSpare = configuration.isSpare()
        logger.report(
            error, "no connection to PostgreSQL", in: isSpare ? nil : configuration.outage,
            level: isSpare ? .debug : .warning,
            metadata: ["failures": "\(failures)", "retry.s": "\(delay / .seconds(1))"])
    }
}
