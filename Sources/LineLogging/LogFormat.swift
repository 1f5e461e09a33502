/// The format of log lines.
public enum LogFormat: Sendable {
    /// Time in UTC, level, logger, fields by name, source and message.
    case text
    /// One JSON object: `time`, `level`, `message`, `logger`, `source`, and the fields by name, all of them strings.
    case json
}
