import FoundationEssentials

/// The time of a log line.
struct LogTime {
    /// The second in UTC, as `yyyy-MM-ddTHH:mm:ss`.
    let second: String
    private let milliseconds: Int

    /// The instant in UTC with milliseconds, in the format of RFC 3339.
    var text: String {
        let digits = String(milliseconds)
        return second + "." + String(repeating: "0", count: 3 - digits.utf8.count) + digits + "Z"
    }

    fileprivate init(second: String, milliseconds: Int) {
        self.second = second
        self.milliseconds = milliseconds
    }
}

/// Formats times. It keeps the text of the last second, because most lines share it with the line before.
struct LogClock {
    private var second = Int64.min
    private var text = ""

    /// Formats an instant.
    mutating func time(of instant: Date) -> LogTime {
        let second = Int64(instant.timeIntervalSince1970.rounded(.down))
        let start = Date(timeIntervalSince1970: TimeInterval(second))
        if self.second != second {
            self.second = second
            text = String(start.formatted(.iso8601).dropLast())
        }
        return LogTime(second: text, milliseconds: min(999, Int(instant.timeIntervalSince(start) * 1000)))
    }
}
