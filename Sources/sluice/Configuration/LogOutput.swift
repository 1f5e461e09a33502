import Dispatch
import Foundation
import Synchronization
import SystemPackage

/// Writes lines to standard error, off the threads that log them.
///
/// Lines of some milliseconds gather and go out together. What is logged is in the process's memory for that long: a process
/// that is killed takes it along, one that ends in any other way writes it first. Lines at level error and above are written
/// before the call returns.
final class LogOutput: Sendable {
    /// The one output of the process.
    static let standardError = LogOutput(.standardError)

    /// Lines beyond this many bytes wait for those before them, so that a slow reader of the log slows the process down and
    /// loses nothing.
    private static let mostUnwritten = 1 << 20

    /// Most bytes of room that are kept.
    private static let mostSpare = 1 << 18

    /// How long lines gather.
    private static let delay = DispatchTimeInterval.milliseconds(10)

    private struct State {
        var unwritten: [UInt8] = []
        /// Room that earlier lines took and later ones will need.
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

    /// Takes a line, which `append` puts behind those before it, its line end included.
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

    /// Writes what there is.
    func flush() {
        queue.sync { writeOut() }
    }

    private func writeOut() {
        var lines = state.withLock { state in
            state.isScheduled = false
            return exchange(&state.unwritten, with: exchange(&state.spare, with: []))
        }
        // Nobody is left to tell that the log cannot be written.
        if !lines.isEmpty { _ = try? descriptor.writeAll(lines) }
        guard lines.capacity <= Self.mostSpare else { return }
        lines.removeAll(keepingCapacity: true)
        state.withLock { $0.spare = lines }
    }
}
