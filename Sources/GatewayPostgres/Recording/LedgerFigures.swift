public import Figures
import GatewayCore

/// What the connections that record have done, for metrics.
public final class LedgerFigures: Sendable {
    /// What became of a proposal.
    public enum Outcome: String, Sendable, CaseIterable {
        /// It was recorded.
        case recorded
        /// Policy had changed, so that the request was decided again.
        case stale
        /// A quota was used up.
        case quotaExceeded = "quota_exceeded"
        /// The statement failed or came late, or the clocks differed.
        case failed
        /// The queue was full.
        case queueFull = "queue_full"
        /// Its deadline passed in the queue.
        case late
        /// The gateway was stopping.
        case stopping
    }

    /// Proposals, by what became of them.
    public let items = Counters<Outcome>()
    /// Time of one recording statement, from sending it to its answer.
    public let durations = Histogram.ofDurations()
    /// Number of proposals in one recording statement.
    public let batchSizes = Histogram(bounds: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512])

    /// Counts the proposals of a statement that was answered.
    func count(_ verdicts: [RecordVerdict]) {
        var (recorded, stale, exceeded) = (0, 0, 0)
        for verdict in verdicts {
            switch verdict {
            case .recorded: recorded += 1
            case .stale: stale += 1
            case .quotaExceeded: exceeded += 1
            }
        }
        if recorded > 0 { items[.recorded].add(recorded) }
        if stale > 0 { items[.stale].add(stale) }
        if exceeded > 0 { items[.quotaExceeded].add(exceeded) }
    }
}
