import Glibc
import LocalFiles
import ObjectClient
import Synchronization
import Terminal

/// Shows on a terminal how far a transfer is: bytes, rate and the time that is left.
final class ProgressBar: Sendable {
    private let shown = Mutex<ContinuousClock.Instant?>(nil)
    private let start = ContinuousClock.now
    private let isOn: Bool

    /// Creates a bar on standard error.
    ///
    /// - Parameter isOn: Whether it may show anything. It shows nothing unless standard error is a terminal.
    init(isOn: Bool) {
        self.isOn = isOn && isatty(STDERR_FILENO) == 1
    }

    /// A meter that the bar follows.
    var meter: TransferMeter { TransferMeter { reading in self.show(reading) } }

    private func show(_ reading: TransferMeter.Reading) {
        guard isOn else { return }
        shown.withLock { shown in
            let now = ContinuousClock.now
            let isDue = shown.map { now - $0 > .milliseconds(100) } ?? true
            guard isDue || reading.bytes == reading.total else { return }
            shown = now
            writeToStandardError("\r" + Self.line(reading, after: now - start) + "\u{1B}[K")
        }
    }

    /// Clears the line.
    func end() {
        let wasShown = shown.withLock { exchange(&$0, with: nil) } != nil
        if wasShown { writeToStandardError("\r\u{1B}[K") }
    }

    /// The text to show.
    ///
    /// - Parameters:
    ///   - reading: How far the transfer is.
    ///   - time: How long it has been running.
    static func line(_ reading: TransferMeter.Reading, after time: Duration) -> String {
        let seconds = max(0.001, time / .seconds(1))
        let rate = Double(max(0, reading.bytes - reading.earlier)) / seconds
        let amount = ByteCount.text(reading.bytes)
        let speed = "\(ByteCount.text(Int64(rate)))/s"
        guard let total = reading.total, total > 0 else { return "\(amount)  \(speed)" }
        let part = min(1, max(0, Double(reading.bytes) / Double(total)))
        let done = Int(part * 24)
        let bar = String(repeating: "#", count: done) + String(repeating: ".", count: 24 - done)
        let left = rate > 0 ? Self.clock(Double(total - reading.bytes) / rate) : "--:--"
        return "[\(bar)] \(Int(part * 100)) %  \(amount) of \(ByteCount.text(total))  \(speed)  \(left) left"
    }

    /// A time such as `1:05` or `2:00:09`.
    private static func clock(_ seconds: Double) -> String {
        let all = Int(min(max(0, seconds), 359_999).rounded(.up))
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let (hours, minutes) = (all / 3600, all / 60 % 60)
        return hours > 0 ? "\(hours):\(two(minutes)):\(two(all % 60))" : "\(minutes):\(two(all % 60))"
    }
}
