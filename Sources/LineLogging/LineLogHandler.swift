import FoundationEssentials
import Logging

/// Writes the events of swift-log as lines to standard error. Lines of different threads do not mix.
struct LineLogHandler: LogHandler {
    let label: String
    let format: LogFormat
    var logLevel = Logger.Level.info
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?

    init(label: String, format: LogFormat) {
        self.label = label
        self.format = format
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let fields = fields(of: event)
        let now = Date.now
        LogOutput.standardError.write(at: now, isUrgent: event.level >= .error) { lines, clock in
            append(event, fields, at: clock.time(of: now), to: &lines)
        }
    }

    /// Appends the line of an event, with its metadata sorted by name.
    private func append(
        _ event: LogEvent, _ fields: [(name: String, value: LogValue)], at time: LogTime, to lines: inout [UInt8]
    ) {
        let message = event.message.description
        let bytes = fields.reduce(label.utf8.count + event.source.utf8.count + message.utf8.count) {
            $0 + $1.name.utf8.count + $1.value.text.utf8.count
        }
        lines.append(addingCapacity: LogLine.room(fields: fields.count, bytes: bytes)) { output in
            var line = LogLine(
                format, level: event.level, label: label, source: event.source, message: message, at: time, in: &output)
            for field in fields { line.field(field.name, field.value, in: &output) }
            line.end(in: &output)
        }
    }

    /// Returns the bytes of an event's line.
    func line(for event: LogEvent, at instant: Date) -> [UInt8] {
        var lines: [UInt8] = []
        var clock = LogClock()
        append(event, fields(of: event), at: clock.time(of: instant), to: &lines)
        return lines
    }

    /// Returns the metadata, sorted by name. If several sources define a name, the one nearest to the call wins.
    private func fields(of event: LogEvent) -> [(name: String, value: LogValue)] {
        var fields = event.metadata ?? [:]
        if let provided = metadataProvider?.get() { fields.merge(provided) { inner, _ in inner } }
        if !metadata.isEmpty { fields.merge(metadata) { inner, _ in inner } }
        if let error = event.error {
            fields["error.message"] = "\(error)"
            fields["error.type"] = "\(String(reflecting: type(of: error)))"
        }
        return fields.map { ($0.key, LogValue($0.value, of: $0.key)) }.sorted { $0.name < $1.name }
    }
}
