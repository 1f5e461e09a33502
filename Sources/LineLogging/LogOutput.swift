import Dispatch
import Figures
import FoundationEssentials
import Glibc
import Synchronization
import SystemPackage

/// Writes lines to standard error, on a thread other than those that log.
///
/// Lines are held for some milliseconds and written together. A process that is killed loses the lines that it holds,
/// none of them older than ten milliseconds. A process that ends in any other way writes them first. Lines at level
/// error and above are written before the call returns, unless whoever reads the log is slow.
///
/// A reader that is slow slows the process down, but no line is lost. One that takes less than 16 KiB in a second
/// stands still: then lines are dropped once too many wait, and the process goes on.
final class LogOutput: Sendable {
    /// The one output of the process.
    static let standardError: LogOutput = {
        atexit { LogOutput.standardError.flush() }
        return LogOutput(.standardError)
    }()

    /// Number of waiting bytes above which the caller waits until they are written, or until the reader stands still.
    private static let mostUnwritten = 1 << 20

    /// Number of bytes that are written at once. After each such part it is known that the reader moves.
    private static let part = 1 << 14

    /// Time without a part written after which the reader stands still.
    private static let longestPause = Duration.seconds(1)

    /// Time between two looks of a caller that waits at whether the reader stands still.
    private static let lookInterval = DispatchTimeInterval.milliseconds(50)

    /// The largest buffer to keep for reuse, in bytes.
    private static let mostSpare = 1 << 18

    /// Time for which lines are held.
    private static let delay = DispatchTimeInterval.milliseconds(5)

    /// Time in seconds after which a caller waits until the lines are written, because their thread has been held up.
    private static let patience = 0.008

    /// Time for which the caller waits until an urgent line is written.
    private static let urgentPatience = DispatchTimeInterval.milliseconds(100)

    private struct State {
        var unwritten: [UInt8] = []
        /// An empty buffer for new lines while others are being written.
        var spare: [UInt8] = []
        var clock = LogClock()
        var isScheduled = false
        /// When the first of the lines that are held was taken.
        var heldSince = Date.distantPast
        /// Since when lines are being written; `nil` if none are.
        var writingSince: Date?
        /// When the writing of the present lines began, or when the last part of them was written.
        var movedAt = ContinuousClock.now
        /// Lines that were taken.
        var taken = 0

        /// Whether lines are being written and whoever reads them has taken none for long.
        var readerStandsStill: Bool {
            writingSince != nil && ContinuousClock.now - movedAt > LogOutput.longestPause
        }
    }

    /// Lines that were taken but not written: writing failed, or the reader stood still.
    let dropped = Counter()
    /// Lines that were taken.
    var taken: Int { state.withLock { $0.taken } }
    private let descriptor: FileDescriptor
    private let queue = DispatchQueue(label: "sluice.log")
    private let state = Mutex(State())

    init(_ descriptor: FileDescriptor) {
        self.descriptor = descriptor
    }

    /// Takes a line, which `append` adds after earlier lines, with its line end.
    ///
    /// - Parameter now: The time of the line.
    func write(at now: Date, isUrgent: Bool, _ append: (inout [UInt8], inout LogClock) -> Void) {
        let (isFirst, isDue, isAwaited) = state.withLock { state in
            state.taken += 1
            if state.unwritten.count > Self.mostUnwritten, state.readerStandsStill {
                dropped.add()
                return (false, false, false)
            }
            append(&state.unwritten, &state.clock)
            // Whoever reads the log is slow. Waiting for it would not help.
            let isStuck = state.writingSince.map { now.timeIntervalSince($0) > Self.patience } ?? false
            var isDue = state.unwritten.count > Self.mostUnwritten
            let isFirst = !state.isScheduled
            if isFirst {
                state.isScheduled = true
                state.heldSince = now
            } else if state.writingSince == nil {
                isDue = isDue || now.timeIntervalSince(state.heldSince) > Self.patience
            }
            return (isFirst, isDue, isUrgent && !isStuck)
        }
        if isDue {
            flush()
        } else if isAwaited {
            _ = writing().wait(timeout: .now() + Self.urgentPatience)
        } else if isFirst {
            queue.asyncAfter(deadline: .now() + Self.delay) { self.writeOut() }
        }
    }

    /// Writes the lines that are held, and waits for it. If the reader stands still, the lines stay held.
    ///
    /// The caller never writes itself: nothing ends a write that the reader holds up.
    func flush() {
        let isWritten = writing()
        let began = ContinuousClock.now
        while isWritten.wait(timeout: .now() + Self.lookInterval) == .timedOut {
            let movedAt = max(began, state.withLock { $0.movedAt })
            if ContinuousClock.now - movedAt > Self.longestPause { return }
        }
    }

    /// Begins to write the lines that are held. The semaphore is signalled once they are written.
    private func writing() -> DispatchSemaphore {
        let isWritten = DispatchSemaphore(value: 0)
        queue.async {
            self.writeOut()
            isWritten.signal()
        }
        return isWritten
    }

    private func writeOut() {
        var lines = state.withLock { state in
            state.isScheduled = false
            state.writingSince = Date()
            state.movedAt = .now
            return exchange(&state.unwritten, with: exchange(&state.spare, with: []))
        }
        var written = 0
        do {
            while written < lines.count {
                let end = Self.end(ofPartFrom: written, in: lines)
                _ = try descriptor.writeAll(lines[written..<end])
                written = end
                state.withLock { $0.movedAt = .now }
            }
        } catch {
            // There is nowhere to report that the log cannot be written but the metrics.
            dropped.add(lines[written...].count(where: { $0 == Self.lineEnd }))
        }
        if lines.capacity > Self.mostSpare { lines = [] }
        lines.removeAll(keepingCapacity: true)
        state.withLock { state in
            state.writingSince = nil
            state.spare = lines
        }
    }

    private static let lineEnd = UInt8(ascii: "\n")

    /// Where the part ends that begins at an index: after a line, unless the line is longer than a part. Processes that
    /// write to the same file then do not mix their lines.
    private static func end(ofPartFrom start: Int, in lines: [UInt8]) -> Int {
        guard lines.count - start > part else { return lines.count }
        let last = lines[start..<start + part].lastIndex(of: lineEnd)
        return last.map { $0 + 1 } ?? start + part
    }
}
