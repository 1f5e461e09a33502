public import FoundationEssentials
import GatewayCore
import LibPQ
public import Logging
import Synchronization

/// The gateway's clock, which each recording compares with the database's. If the two differ by more than is allowed,
/// the call records nothing.
public final class LedgerClock: Sendable {
    /// Seconds after which a caller may try again.
    private static let retryAfter = 5

    private let now: @Sendable () -> Date
    /// Maximum difference from another clock, in seconds.
    public let maxDifference: TimeInterval
    private let logger: Logger
    private let isOff = Atomic(false)

    /// Creates the clock.
    ///
    /// - Parameters:
    ///   - maxDifference: Seconds by which the database's clock may differ from this one.
    ///   - logger: Receives one message when the clocks begin to differ, and one when they agree again.
    ///   - now: Returns the gateway's current time.
    public init(maxDifference: TimeInterval, logger: Logger, now: @escaping @Sendable () -> Date) {
        self.maxDifference = maxDifference
        self.logger = logger
        self.now = now
    }

    /// The gateway's current time.
    var time: Date { now() }

    /// Adds the time of sending and the allowed difference to the parameters of a call.
    func write(to parameters: inout PostgresParameters) throws(PostgresError) {
        try now().encode(into: &parameters)
        try maxDifference.encode(into: &parameters)
    }

    /// Notes that a call was not refused for the clocks, and logs it if calls were before.
    func agrees() {
        guard isOff.load(ordering: .relaxed), isOff.exchange(false, ordering: .relaxed) else { return }
        logger.notice("the clocks of gateway and database agree again; issuances are recorded")
    }

    /// Returns the error for a call that recorded nothing, since the clocks seemed to differ. Logs that they do when it
    /// begins.
    ///
    /// A call that waits until the database reads it, as while the database stands still, makes the database's clock
    /// seem ahead by that time. Where this may be all that is not allowed, nothing is known of the clocks.
    /// - Parameters:
    ///   - ahead: Seconds by which the database's clock was ahead of the time of sending when it read the call.
    ///   - elapsed: The time from before the call was sent to its answer.
    func refusal(ahead: Double, within elapsed: Duration) -> GatewayError {
        if ahead > 0, ahead <= maxDifference + elapsed / .seconds(1) {
            return .slowDown(retryAfter: 1, cause: "the statement reached PostgreSQL late")
        }
        if !isOff.exchange(true, ordering: .relaxed) {
            logger.error(
                "nothing is issued: the clocks of gateway and database differ",
                metadata: ["database.ahead.s": "\(ahead)", "allowed.s": "\(maxDifference)"])
        }
        return .clockDiffers(retryAfter: Self.retryAfter)
    }
}
