import LocalFiles
import Synchronization
import Terminal

/// Shows on standard error how much of a file has been sent or received, for a user at a terminal.
final class AdminProgress: Sendable {
    private struct State {
        var bytes: Int64 = 0
        var lines = 0
        var shown: ContinuousClock.Instant?
    }

    private let state = Mutex(State())
    private let verb: String
    private let total: Int64?
    private let isOn: Bool

    /// Creates a display.
    ///
    /// - Parameters:
    ///   - verb: `Sent` or `Received`.
    ///   - total: Total number of bytes; `nil` if unknown.
    ///   - isOn: Whether to show anything.
    init(_ verb: String, total: Int64?, isOn: Bool) {
        self.verb = verb
        self.total = total
        self.isOn = isOn
    }

    /// Counts bytes, and updates the display at most every 100 ms.
    func add(_ bytes: some Sequence<UInt8>) {
        guard isOn else { return }
        state.withLock { state in
            for byte in bytes {
                state.bytes += 1
                if byte == UInt8(ascii: "\n") { state.lines += 1 }
            }
            let now = ContinuousClock.now
            // The final state is shown at once, since the answer may take some time.
            let isDue = state.shown.map { now - $0 > .milliseconds(100) } ?? true
            guard isDue || state.bytes == total else { return }
            state.shown = now
            Self.write("\r" + Self.line(verb, bytes: state.bytes, lines: state.lines, of: total) + "\u{1B}[K")
        }
    }

    /// Clears the line.
    func end() {
        let wasShown = state.withLock { exchange(&$0.shown, with: nil) } != nil
        if wasShown { Self.write("\r\u{1B}[K") }
    }

    /// Returns the text to show: a bar if the total is known, else the amount so far.
    static func line(_ verb: String, bytes: Int64, lines: Int, of total: Int64?) -> String {
        let size = ByteCount.text(bytes)
        guard let total, total > 0 else { return "\(verb) \(size), \(lines) lines" }
        let width = 30
        let part = min(Double(bytes) / Double(total), 1)
        let done = Int(part * Double(width))
        let bar = String(repeating: "#", count: done) + String(repeating: ".", count: width - done)
        return "\(verb) [\(bar)] \(Int(part * 100)) % of \(ByteCount.text(total))"
    }

    private static func write(_ text: String) {
        writeToStandardError(text)
    }
}
