import LibPQ
import Synchronization

/// The health of one of the ledger's connections.
///
/// A recording that succeeds proves the connection well. A failed recording may have a cause of its own, so it only
/// raises doubt, and a probe decides. If several recordings in a row fail although probes pass, the failures count.
final class LaneHealth: Sendable {
    struct State {
        /// Start of the recording under way, if any.
        fileprivate var began: ContinuousClock.Instant?
        /// Start of the last call that succeeded.
        var succeeded: ContinuousClock.Instant?
        /// Start of the last check of clock and schema.
        var looked: ContinuousClock.Instant?
        /// Last reading of PostgreSQL's clock, with its instant.
        var clock: RecordingProbe.ClockReading?
        /// Why the last probe failed; `nil` if a call has succeeded since.
        var flaw: String?
        /// When the first failure of a recording since the last success was noted, or the first probe that failed
        /// began; `nil` if none did.
        fileprivate(set) var troubledSince: ContinuousClock.Instant?
        /// Whether the log says that this connection fails while others record.
        fileprivate var isTold = false
        /// The step that a probe is waiting for, and since when.
        var step: (step: RecordingProbe.Step, since: ContinuousClock.Instant)?
        /// Whether a probe was asked for and has not ended.
        var isAsked = false
        /// Whether that probe is to write, too.
        var isAskedToWrite = false
        fileprivate var failures = 0
        fileprivate var failure: (flaw: String, at: ContinuousClock.Instant)?

        /// Returns why recordings over this connection fail; `nil` if they do not.
        func flaw(now: ContinuousClock.Instant) -> String? {
            if let flaw { return flaw }
            guard let failure, failures >= LaneHealth.conviction, now - failure.at < LaneHealth.staleness
            else { return nil }
            return failure.flaw
        }

        /// Whether recordings over this connection succeed: nothing is known against it, and the last success counts.
        func records(now: ContinuousClock.Instant) -> Bool {
            guard !isTroubled(now: now), let succeeded else { return false }
            return now - succeeded <= LaneHealth.staleness
        }

        /// Whether something speaks against the connection: a failure, or a recording that does not end.
        func isSuspect(now: ContinuousClock.Instant) -> Bool {
            isTroubled(now: now) || began.map { now - $0 > LaneHealth.patience } ?? false
        }

        /// Whether a recording or a probe has failed since the last success, or so many recordings that probes do not
        /// count.
        func isTroubled(now: ContinuousClock.Instant) -> Bool { troubledSince != nil || flaw(now: now) != nil }
    }

    private let state = Mutex(State())

    /// Number of recordings in a row whose failure is blamed on the connection rather than on one of them.
    private static let conviction = 3

    /// Time after which a recording under way speaks against the connection.
    fileprivate static let patience = Duration.seconds(1)
    /// Time for which a success, or a failure, counts.
    static let staleness = Duration.seconds(3)

    var current: State { state.withLock { $0 } }

    /// Whether recordings over this connection succeed.
    var records: Bool { current.records(now: .now) }

    /// Whether nothing is known against the connection.
    var isWell: Bool {
        state.withLock { state in
            guard state.troubledSince == nil else { return false }
            return state.began.map { .now - $0 < Self.patience } ?? true
        }
    }

    /// Whether nothing is known against the connection, and neither a recording nor a probe is due or under way.
    var isIdle: Bool { state.withLock { $0.troubledSince == nil && $0.began == nil && !$0.isAsked } }

    /// Notes that a recording has begun.
    func begins(at start: ContinuousClock.Instant) {
        state.withLock { $0.began = start }
    }

    /// Notes that the recording has ended, well or not.
    func ends() {
        state.withLock { $0.began = nil }
    }

    /// Notes that a recording succeeded.
    func recorded(since start: ContinuousClock.Instant) {
        state.withLock { state in
            state.failures = 0
            state.failure = nil
            state.succeed(start)
        }
    }

    /// Notes that a recording failed for a reason other than its own values.
    func recordingFailed(_ error: PostgresError) {
        state.withLock { state in
            state.troubledSince = state.troubledSince ?? .now
            // A lock on one counter delays one caller only.
            guard !error.isWait else { return }
            state.failures += 1
            state.failure = (RecordingProbe.Step.ledger.flaw(error), .now)
        }
    }

    /// Notes that a recording over another connection failed, for a reason that may concern this one too.
    func doubt() {
        state.withLock { $0.troubledSince = $0.troubledSince ?? .now }
    }

    /// Notes that a probe was asked for, which is to write, too, if `writes`. Returns `false` if one is already due or
    /// running.
    func ask(writes: Bool) -> Bool {
        state.withLock { state in
            guard !state.isAsked else { return false }
            state.isAsked = true
            state.isAskedToWrite = writes
            return true
        }
    }

    /// Notes that a probe has reached a step.
    func reaches(_ step: RecordingProbe.Step) {
        state.withLock { $0.step = (step, .now) }
    }

    /// Notes a probe's reading of the clock.
    func saw(_ clock: RecordingProbe.ClockReading, at start: ContinuousClock.Instant) {
        state.withLock { state in
            state.clock = clock
            state.looked = start
        }
    }

    /// Notes that a probe has ended. One that neither passed nor failed has checked clock and schema only.
    func probeEnded(_ end: RecordingProbe.End, since start: ContinuousClock.Instant) {
        state.withLock { state in
            state.step = nil
            state.isAsked = false
            state.looked = start
            switch end {
            case .looked: break
            case .passed: state.succeed(start)
            case .failed(let flaw):
                state.flaw = flaw
                state.troubledSince = state.troubledSince ?? start
            }
        }
    }

    /// Notes that the log is to say that this connection fails. Returns `false` if it says so already.
    func tell() -> Bool {
        state.withLock { state in
            defer { state.isTold = true }
            return !state.isTold
        }
    }
}

extension LaneHealth.State {
    fileprivate mutating func succeed(_ start: ContinuousClock.Instant) {
        succeeded = max(start, succeeded ?? start)
        flaw = nil
        troubledSince = nil
        isTold = false
    }
}
