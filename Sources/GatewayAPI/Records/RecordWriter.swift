import HTTPServing
import HTTPTypes
import StrictJSON

/// A row that is exported.
protocol ExportedRow: Sendable {
    /// The names of the columns, in CSV.
    static var columns: [String] { get }
    /// What becomes of values that a spreadsheet would take for formulas.
    static var formulas: CSVWriter.Formulas { get }
    /// The values of the columns.
    var cells: [String] { get }
    /// Writes the members of the JSON object.
    func write(to json: inout JSONWriter)
}

/// Writes the rows of an export.
struct RecordWriter<Row: ExportedRow>: Sendable {
    private let format: RecordFormat
    private let body: any ResponseBodyWriter

    fileprivate init(_ format: RecordFormat, _ body: any ResponseBodyWriter) async throws {
        self.format = format
        self.body = body
        guard format == .csv else { return }
        var csv = CSVWriter(formulas: .unchanged)
        csv.record(Row.columns)
        try await body.write(csv.bytes)
    }

    /// Writes rows, as a chunk. Formats them on no thread that serves connections.
    @concurrent func write(_ rows: [Row]) async throws {
        guard !rows.isEmpty else { return }
        switch format {
        case .ndjson:
            var json = JSONWriter(capacity: 700 * rows.count)
            for row in rows {
                json.object { row.write(to: &$0) }
                json.endLine()
            }
            try await body.write(json.bytes)
        case .csv:
            var csv = CSVWriter(formulas: Row.formulas)
            for row in rows { csv.record(row.cells) }
            try await body.write(csv.bytes)
        }
    }
}

extension ServerResponse {
    /// Makes the answer to an export: a file whose rows are sent in chunks.
    static func records<Row>(
        _ format: RecordFormat, name: String,
        _ produce: @escaping @Sendable (RecordWriter<Row>) async throws -> Void
    ) -> ServerResponse {
        let fields: HeaderFields = [
            .contentType: format.contentType, .cacheControl: "no-store", .vary: "Accept",
            .contentDisposition: "attachment; filename=\"\(name).\(format.rawValue)\"",
        ]
        return ServerResponse(
            head: ResponseHead(status: .ok, headerFields: fields),
            body: .stream(length: nil) { try await produce(RecordWriter(format, $0)) })
    }
}
