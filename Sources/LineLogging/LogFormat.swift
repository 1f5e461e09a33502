/// The format of log lines.
public enum LogFormat: Sendable {
    /// Time in UTC, level, logger, fields by name, source and message. Values with spaces, quotes, `=` or control
    /// characters are quoted as in JSON.
    case text
    /// One JSON object: `time`, `level`, `message`, `logger`, `source`, and the fields by name. Numbers are numbers.
    case json
}
