import Dispatch
import Glibc
import Synchronization
import SystemPackage

/// Writes lines to standard error, on a thread other than those that log.
///
/// Lines are held for some milliseconds and written together. A process that is killed loses the lines that it holds. A
/// process that ends in any other way writes them first. Lines at level error and above are written before the call
/// returns.
final class LogOutput: Sendable {
    /// The one output of the process.
    static let standardError = LogOutput(.standardError)

    /// Number of waiting bytes above which the caller waits until they are written. A slow reader of the log slows the
    /// process down, but no line is lost.
    private static let mostUnwritten = 1 << 20

    /// The largest buffer to keep for reuse, in bytes.
    private static let mostSpare = 1 << 18

    /// Time for which lines are held.
    private static let delay = DispatchTimeInterval.milliseconds(10)

    private struct State {
        var unwritten: [UInt8] = []
        /// An empty buffer for new lines while others are being written.
        var spare: [UInt8] = []
        var clock = LogClock()
        var isScheduled = false
    }

    private let descriptor: FileDescriptor
    private let queue = DispatchQueue(label: "sluice.log")
    private let state = Mutex(State())

    private init(_ descriptor: FileDescriptor) {
        self.descriptor = descriptor
        atexit { LogOutput.standardError.flush() }
    }

    /// Takes a line, which `append` adds after earlier lines, with its line end.
    func write(isUrgent: Bool, _ append: (inout [UInt8], inout LogClock) -> Void) {
        let (isFirst, isTooMuch) = state.withLock { state in
            append(&state.unwritten, &state.clock)
            defer { state.isScheduled = true }
            return (!state.isScheduled, state.unwritten.count > Self.mostUnwritten)
        }
        if isUrgent || isTooMuch {
            flush()
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
            return exchange(&state.unwritten, with: exchange(&state.spare, with: []))
        }
        // There is nowhere to report that the log cannot be written.
        if !lines.isEmpty { _ = try? descriptor.writeAll(lines) }
        guard lines.capacity <= Self.mostSpare else { return }
        lines.removeAll(keepingCapacity: true)
        state.withLock { $0.spare = lines }
    }
}
