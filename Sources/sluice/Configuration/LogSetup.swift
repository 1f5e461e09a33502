import Foundation
import Logging

/// How log lines look, and from which level on they are written.
struct LogSetup {
    /// The forms of a line.
    enum Format {
        case text
        case json
    }

    var level = Logger.Level.info
    var format = Format.text

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

    /// Makes lines go to standard error from now on; once in a process.
    func install() -> Logger {
        LoggingSystem.bootstrap { [level, format] label in
            var handler: any LogHandler =
                switch format {
                case .text: TextLogHandler(label: label)
                case .json: JSONLogHandler(label: label)
                }
            handler.logLevel = level
            return handler
        }
        return Logger(label: "sluice")
    }
}

/// Writes each line as one JSON object: time, level, message, logger, and metadata by their names.
struct JSONLogHandler: LogHandler {
    let label: String
    var logLevel = Logger.Level.info
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?

    init(label: String) {
        self.label = label
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var members: [String: Any] = [:]
        for source in [metadataProvider?.get(), metadata, event.metadata] {
            for (key, value) in source ?? [:] { members[key] = "\(value)" }
        }
        members["time"] = Date.now.formatted(.iso8601.time(includingFractionalSeconds: true))
        members["level"] = event.level.rawValue
        members["message"] = event.message.description
        members["logger"] = label
        guard var line = try? JSONSerialization.data(withJSONObject: members, options: [.sortedKeys]) else { return }
        line.append(UInt8(ascii: "\n"))
        try? FileHandle.standardError.write(contentsOf: line)
    }
}
