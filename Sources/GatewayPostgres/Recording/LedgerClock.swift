public import FoundationEssentials
import LibPQ
public import Logging
import Synchronization

/// The gateway's clock, which each recording compares with the database's. If the two differ by more than is allowed,
/// the call records nothing.
public final class LedgerClock: Sendable {
    /// Seconds after which a caller may try again.
    static let retryAfter = 5

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

    /// Notes from a call's outcome whether the clocks agree, and logs a change.
    func note(_ outcome: RecordBatch.Outcome) {
        switch outcome {
        case .verdicts:
            guard isOff.load(ordering: .relaxed), isOff.exchange(false, ordering: .relaxed) else { return }
            logger.notice("the clocks of gateway and database agree again; issuances are recorded")
        case .clockDiffers(let ahead):
            guard !isOff.exchange(true, ordering: .relaxed) else { return }
            logger.error(
                "nothing is issued: the clocks of gateway and database differ",
                metadata: ["database.ahead.s": "\(ahead)", "allowed.s": "\(maxDifference)"])
        }
    }
}
