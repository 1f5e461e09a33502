public import Foundation
import LibPQ
public import Logging
import Synchronization

/// The gateway's clock as recordings are compared by: each call tells it, and records nothing where the database's
/// differs by more than is allowed.
public final class LedgerClock: Sendable {
    /// Seconds after which a caller may ask again.
    static let retryAfter = 5

    private let now: @Sendable () -> Date
    /// Seconds that another clock may differ from this one.
    let maxDifference: TimeInterval
    private let logger: Logger
    private let isOff = Atomic(false)

    /// Sets the clock.
    ///
    /// - Parameters:
    ///   - maxDifference: Seconds that the database's clock may differ from this one.
    ///   - logger: Told once when the clocks begin to differ, and once when they agree again.
    ///   - now: The clock.
    public init(maxDifference: TimeInterval, logger: Logger, now: @escaping @Sendable () -> Date) {
        self.maxDifference = maxDifference
        self.logger = logger
        self.now = now
    }

    /// The time, by the gateway.
    var time: Date { now() }

    /// Adds the time of sending, and the difference that is allowed.
    func write(to parameters: inout PostgresParameters) throws(PostgresError) {
        try now().encode(into: &parameters)
        try maxDifference.encode(into: &parameters)
    }

    /// Takes notice of what a call found.
    func note(_ outcome: RecordBatch.Outcome) {
        switch outcome {
        case .verdicts:
            guard isOff.load(ordering: .relaxed), isOff.exchange(false, ordering: .relaxed) else { return }
            logger.notice("the clocks of gateway and database agree again; issuances are recorded")
        case .clockDiffers(let ahead):
            guard !isOff.exchange(true, ordering: .relaxed) else { return }
            logger.error(
                "nothing is issued: the clocks of gateway and database differ",
                metadata: ["database-ahead": "\(ahead) s", "allowed": "\(maxDifference) s"])
        }
    }
}
