import GatewayCore
import HTTPServing
import HTTPTypes

/// The forms of long lists that are read and written record by record.
enum RecordFormat: String, CaseIterable, Sendable {
    /// One JSON object a line.
    case ndjson
    /// RFC 4180, with a header.
    case csv

    /// What `Content-Type` says of it.
    var contentType: String {
        switch self {
        case .ndjson: "application/x-ndjson"
        case .csv: "text/csv; charset=utf-8"
        }
    }

    /// Media types that mean it.
    private var mediaTypes: Set<String> {
        switch self {
        case .ndjson: ["application/x-ndjson", "application/ndjson", "application/jsonl"]
        case .csv: ["text/csv"]
        }
    }

    /// The form that a media type means, whatever its parameters.
    init?(mediaType: Substring) {
        let essence = (mediaType.split(separator: ";", maxSplits: 1).first ?? "").trimming { $0 == " " || $0 == "\t" }
        guard let format = Self.allCases.first(where: { $0.mediaTypes.contains(essence.lowercased()) }) else {
            return nil
        }
        self = format
    }
}

extension APIRequest {
    /// The form that an export is wanted in: `?format=`, else the first in `Accept` that we have, else NDJSON.
    func exportFormat() throws(GatewayError) -> RecordFormat {
        if let format = try word("format", RecordFormat.self) { return format }
        let wanted = headers[values: .accept].flatMap { $0.split(separator: ",") }
        return wanted.lazy.compactMap { RecordFormat(mediaType: $0) }.first ?? .ndjson
    }

    /// The form of the body.
    func importFormat() throws -> RecordFormat {
        guard let format = RecordFormat(mediaType: (headers[.contentType] ?? "")[...]) else {
            throw APIError.unsupportedRecords
        }
        return format
    }
}

extension ServerResponse {
    /// The answer to an export: a file of records, which come chunk by chunk.
    static func records(
        _ format: RecordFormat, name: String,
        _ produce: @escaping @Sendable (any ResponseBodyWriter) async throws -> Void
    ) -> ServerResponse {
        let fields: HeaderFields = [
            .contentType: format.contentType, .cacheControl: "no-store", .vary: "Accept",
            .contentDisposition: "attachment; filename=\"\(name).\(format.rawValue)\"",
        ]
        return ServerResponse(
            head: ResponseHead(status: .ok, headerFields: fields), body: .stream(length: nil, produce))
    }
}
