public import Logging
import Synchronization

/// Keeps the lines of a log.
public final class LogLines: Sendable {
    private let level: Logger.Level
    private let kept = Mutex<[String]>([])

    /// The lines so far: level, message, and metadata as `key=value`, sorted by key.
    public var all: [String] { kept.withLock { $0 } }

    /// A logger whose lines are kept.
    public var logger: Logger {
        Logger(label: "tests") { _ in Handler(lines: self, logLevel: self.level) }
    }

    /// Begins without lines.
    ///
    /// - Parameter level: The lowest level that is kept.
    public init(from level: Logger.Level = .notice) { self.level = level }

    private struct Handler: LogHandler {
        let lines: LogLines
        var logLevel: Logger.Level
        var metadata: Logger.Metadata = [:]

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let fields = (event.metadata ?? [:]).sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }
            lines.kept.withLock { $0.append("\(event.level) \(event.message)\(fields.joined())") }
        }
    }
}
