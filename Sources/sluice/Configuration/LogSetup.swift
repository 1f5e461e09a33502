import Logging

/// How log lines look, and from which level on they are written.
struct LogSetup {
    var level = Logger.Level.info
    var format = LogLine.Format.text

    /// The defaults.
    init() {}

    /// Reads both; mistakes are noted.
    init(reading reader: inout SettingReader) {
        level =
            reader.choice(
                .logLevel,
                [
                    "trace": .trace, "debug": .debug, "info": .info, "notice": .notice, "warning": .warning,
                    "error": .error, "critical": .critical,
                ]) ?? level
        format = reader.choice(.logFormat, ["text": .text, "json": .json]) ?? format
    }

    private static let label = "sluice"

    /// Takes the lines of answered requests.
    var requests: LineRequestLog {
        LineRequestLog(label: Self.label, format: format, logLevel: level)
    }

    /// Makes lines go to standard error from now on; once in a process.
    func install() -> Logger {
        LoggingSystem.bootstrap { [level, format] label in
            var handler = LineLogHandler(label: label, format: format)
            handler.logLevel = level
            return handler
        }
        return Logger(label: Self.label)
    }
}
