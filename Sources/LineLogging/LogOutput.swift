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
final class LogOutput: Sendable {
    /// The one output of the process.
    static let standardError: LogOutput = {
        atexit { LogOutput.standardError.flush() }
        return LogOutput(.standardError)
    }()

    /// Number of waiting bytes above which the caller waits until they are written. A slow reader of the log slows the
    /// process down, but no line is lost.
    private static let mostUnwritten = 1 << 20

    /// The largest buffer to keep for reuse, in bytes.
    private static let mostSpare = 1 << 18

    /// Time for which lines are held.
    private static let delay = DispatchTimeInterval.milliseconds(5)

    /// Time in seconds after which a caller writes the lines itself, because the thread that should has been held up.
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
        /// Lines that were taken.
        var taken = 0
    }

    /// Lines that could not be written.
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
            append(&state.unwritten, &state.clock)
            state.taken += 1
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
            let isWritten = DispatchSemaphore(value: 0)
            queue.async {
                self.writeOut()
                isWritten.signal()
            }
            _ = isWritten.wait(timeout: .now() + Self.urgentPatience)
        } else if isFirst {
            queue.asyncAfter(deadline: .now() + Self.delay) { self.writeOut() }
        }
    }

    /// Writes the lines that are held.
    func flush() {
        queue.sync { writeOut() }
    }

    private func writeOut() {
        var lines = state.withLock { state in
            state.isScheduled = false
            state.writingSince = Date()
            return exchange(&state.unwritten, with: exchange(&state.spare, with: []))
        }
        do {
            if !lines.isEmpty { _ = try descriptor.writeAll(lines) }
        } catch {
            // There is nowhere to report that the log cannot be written but the metrics.
            dropped.add(lines.count(where: { $0 == UInt8(ascii: "\n") }))
        }
        if lines.capacity > Self.mostSpare { lines = [] }
        lines.removeAll(keepingCapacity: true)
        state.withLock { state in
            state.writingSince = nil
            state.spare = lines
        }
    }
}
