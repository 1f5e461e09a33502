import Foundation
import Logging
import Synchronization

/// Writes lines to standard error.
///
/// Lines of several threads do not mix. Control characters in it are escaped: what a client
/// sent cannot pass for a line of its own.
struct LineLogHandler: LogHandler {
    /// What a line looks like.
    enum Format {
        /// Time in UTC, level, logger, metadata by name, source and message.
        case text
        /// One JSON object: `time`, `level`, `message`, `logger`, `source`, and metadata by their names.
        case json
    }

    let label: String
    let format: Format
    var logLevel = Logger.Level.info
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?

    init(label: String, format: Format) {
        self.label = label
        self.format = format
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        LogOutput.standardError.write(line(for: event, at: .now), isUrgent: event.level >= .error)
    }

    /// The bytes of a line.
    func line(for event: LogEvent, at time: Date) -> [UInt8] {
        switch format {
        case .text: text(of: event, at: time)
        case .json: json(of: event, at: time)
        }
    }

    private func json(of event: LogEvent, at time: Date) -> [UInt8] {
        var members = Dictionary(fields(of: event).map { ($0.key, $0.value.description) }) { _, last in last }
        members["time"] = time.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
        members["level"] = event.level.rawValue
        members["message"] = event.message.description
        members["logger"] = label
        members["source"] = event.source
        let object = try? JSONSerialization.data(
            withJSONObject: members, options: [.sortedKeys, .withoutEscapingSlashes])
        return Array(object ?? Data()) + [UInt8(ascii: "\n")]
    }

    private func text(of event: LogEvent, at time: Date) -> [UInt8] {
        var line: [UInt8] = []
        line.reserveCapacity(320)
        line += Self.seconds.text(of: time)
        line.append(UInt8(ascii: " "))
        line += event.level.rawValue.utf8
        line.append(UInt8(ascii: " "))
        line += label.utf8
        line.append(UInt8(ascii: ":"))
        for (key, value) in fields(of: event) {
            line.append(UInt8(ascii: " "))
            Self.append(key, to: &line)
            line.append(UInt8(ascii: "="))
            if case .string(let text) = value {
                Self.append(text, to: &line)
            } else {
                Self.append(value.description, to: &line)
            }
        }
        line += " [".utf8
        line += event.source.utf8
        line += "] ".utf8
        Self.append(event.message.description, to: &line)
        line.append(UInt8(ascii: "\n"))
        return line
    }

    /// Metadata by name; of a name in several places the innermost counts.
    private func fields(of event: LogEvent) -> [(key: String, value: Logger.Metadata.Value)] {
        var fields = event.metadata ?? [:]
        if let provided = metadataProvider?.get() { fields.merge(provided) { inner, _ in inner } }
        if !metadata.isEmpty { fields.merge(metadata) { inner, _ in inner } }
        if let error = event.error {
            fields["error.message"] = "\(error)"
            fields["error.type"] = "\(String(reflecting: type(of: error)))"
        }
        return fields.sorted { $0.key < $1.key }
    }

    private static func append(_ text: String, to line: inout [UInt8]) {
        if standsForItself(text) {
            line += text.utf8
            return
        }
        for scalar in text.unicodeScalars {
            if scalar.value < 0x20 || scalar.value == 0x7f {
                line += scalar.escaped(asASCII: true).utf8
            } else {
                line += String(scalar).utf8
            }
        }
    }

    private static func standsForItself(_ text: String) -> Bool {
        let bytes = text.utf8Span.span
        for index in bytes.indices where bytes[index] < 0x20 || bytes[index] == 0x7f { return false }
        return true
    }

    private static let seconds = LogSeconds()
}

/// Writes times to the second, and keeps the text of the last one: most lines share theirs with the line before.
private final class LogSeconds: Sendable {
    private let last = Mutex<(second: Int64, text: [UInt8])>((.min, []))

    func text(of time: Date) -> [UInt8] {
        let second = Int64(time.timeIntervalSince1970.rounded(.down))
        return last.withLock { last in
            if last.second != second {
                let whole = Date(timeIntervalSince1970: TimeInterval(second))
                last = (second, Array(whole.formatted(.iso8601).utf8))
            }
            return last.text
        }
    }
}
