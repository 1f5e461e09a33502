import Figures
import GatewayCore
public import Logging

/// The format of log lines, and the lowest level written.
public struct LogSetup: Sendable {
    /// The lowest level of the lines that are written. The default is `info`.
    public var level = Logger.Level.info
    /// The format of the lines. The default is `text`.
    public var format = LogFormat.text

    /// Creates a setup with the defaults.
    public init() {}

    /// Lines that the process has logged.
    public static var lines: Int { LogOutput.standardError.taken }

    /// Lines that could not be written to standard error.
    public static var droppedLines: Int { LogOutput.standardError.dropped.value }

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
            handler.metadataProvider = .trace
            return handler
        }
        return Logger(label: Self.label)
    }
}

extension Logger.MetadataProvider {
    /// The trace of the request that the running task is about.
    fileprivate static let trace = Logger.MetadataProvider {
        guard let trace = TraceContext.current else { return [:] }
        return ["spanId": "\(trace.spanID)", "traceId": "\(trace.traceID)"]
    }
}
