public import Logging

/// The format of log lines, and the lowest level that is written.
public struct LogSetup: Sendable {
    /// The lowest level of the lines that are written.
    public var level = Logger.Level.info
    /// The format of the lines.
    public var format = LogFormat.text

    /// The defaults.
    public init() {}

    private static let label = "sluice"

    /// Takes the lines of answered requests.
    public var requests: LineRequestLog {
        LineRequestLog(label: Self.label, format: format, logLevel: level)
    }

    /// Sends what is logged to standard error from now on; call it once in a process.
    public func install() -> Logger {
        LoggingSystem.bootstrap { [level, format] label in
            var handler = LineLogHandler(label: label, format: format)
            handler.logLevel = level
            return handler
        }
        return Logger(label: Self.label)
    }
}
