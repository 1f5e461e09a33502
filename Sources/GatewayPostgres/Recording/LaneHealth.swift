import LibPQ
import Synchronization

/// What one connection of the ledger last showed.
///
/// Recordings that succeed are believed. One that fails may have failed on its own account, so that it only raises
/// doubt: a probe decides. Where several in a row fail though probes pass, the recordings are believed.
final class LaneHealth: Sendable {
    struct State {
        /// When the last call that succeeded began.
        var succeeded: ContinuousClock.Instant?
        /// When the last look at clock and schema began.
        var looked: ContinuousClock.Instant?
        /// What PostgreSQL's clock said, and when.
        var clock: RecordingProbe.ClockReading?
        /// Whether a recording failed after the last success.
        var isDoubted = false
        /// Why the last probe failed, unless something succeeded since.
        var flaw: String?
        /// What a probe waits for, and since when.
        var step: (step: RecordingProbe.Step, since: ContinuousClock.Instant)?
        /// Whether a probe was asked for and is not over.
        var isAsked = false
        fileprivate var failures = 0
        fileprivate var failure: (flaw: String, at: ContinuousClock.Instant)?

        /// Why recordings fail, as far as this connection shows.
        func flaw(now: ContinuousClock.Instant) -> String? {
            if let flaw { return flaw }
            guard let failure, failures >= LaneHealth.conviction, now - failure.at < .seconds(3) else { return nil }
            return failure.flaw
        }
    }

    private let state = Mutex(State())

    /// Recordings in a row whose failure is not put down to one of them.
    private static let conviction = 3

    var current: State { state.withLock { $0 } }

    /// A recording succeeded.
    func recorded(since start: ContinuousClock.Instant) {
        state.withLock { state in
            state.failures = 0
            state.failure = nil
            state.succeed(start)
        }
    }

    /// A recording failed, not because of its own values.
    func recordingFailed(_ error: PostgresError) {
        state.withLock { state in
            state.isDoubted = true
            // A lock on one counter holds up one caller.
            guard !error.isWait else { return }
            state.failures += 1
            state.failure = (RecordingProbe.Step.ledger.flaw(error), .now)
        }
    }

    /// Takes note that a probe is to be made; `false` where one is.
    func ask() -> Bool {
        state.withLock { state in
            defer { state.isAsked = true }
            return !state.isAsked
        }
    }

    /// A probe has come to a step.
    func reaches(_ step: RecordingProbe.Step) {
        state.withLock { $0.step = (step, .now) }
    }

    /// A probe has seen the clock.
    func saw(_ clock: RecordingProbe.ClockReading, at start: ContinuousClock.Instant) {
        state.withLock { state in
            state.clock = clock
            state.looked = start
        }
    }

    /// A probe is over; without success or failure it has looked at the schema only.
    func probeEnded(_ end: RecordingProbe.End, since start: ContinuousClock.Instant) {
        state.withLock { state in
            state.step = nil
            state.isAsked = false
            state.looked = start
            switch end {
            case .looked: break
            case .passed: state.succeed(start)
            case .failed(let flaw): state.flaw = flaw
            }
        }
    }
}

extension LaneHealth.State {
    fileprivate mutating func succeed(_ start: ContinuousClock.Instant) {
        succeeded = max(start, succeeded ?? start)
        isDoubted = false
        flaw = nil
    }
}
