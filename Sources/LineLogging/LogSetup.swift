public import Logging

/// The format of log lines, and the lowest level written.
public struct LogSetup: Sendable {
    /// The lowest level of the lines that are written. The default is `info`.
    public var level = Logger.Level.info
    /// The format of the lines. The default is `text`.
    public var format = LogFormat.text

    /// Creates a setup with the defaults.
    public init() {}

    private static let label = "sluice"

    /// The log that takes the lines of answered requests.
    public var requests: LineRequestLog {
        LineRequestLog(label: Self.label, format: format, logLevel: level)
    }

    /// Sends all events of swift-log to standard error from now on. Call it once per process.
    public func install() -> Logger {
        LoggingSystem.bootstrap { [level, format] label in
            var handler = LineLogHandler(label: label, format: format)
            handler.logLevel = level
            return handler
        }
        return Logger(label: Self.label)
    }
}
