import LineLogging
import Logging

extension LogSetup {
    /// Reads level and format, and notes mistakes.
    init(reading reader: inout SettingReader) {
        self.init()
        level =
            reader.choice(
                .logLevel,
                [
                    "trace": .trace, "debug": .debug, "info": .info, "notice": .notice, "warning": .warning,
                    "error": .error, "critical": .critical,
                ]) ?? level
        format = reader.choice(.logFormat, ["text": .text, "json": .json]) ?? format
    }
}
