import LineLogging
import Logging

extension SettingReader {
    /// The program's version and the settings that were read and are set, for a line of the log.
    var metadata: Logger.Metadata {
        given.reduce(into: ["version": "\(ProgramVersion.current)"]) { metadata, setting in
            metadata["setting.\(setting.key.rawValue)"] = "\(setting.value)"
        }
    }
}

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
