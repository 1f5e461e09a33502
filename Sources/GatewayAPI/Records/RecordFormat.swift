import GatewayCore
import HTTPServing
import HTTPTypes

/// The formats of long lists that are read and written one record at a time.
enum RecordFormat: String, CaseIterable, Sendable {
    /// One JSON object per line.
    case ndjson
    /// RFC 4180, with a header.
    case csv

    /// The value of `Content-Type`.
    var contentType: String {
        switch self {
        case .ndjson: "application/x-ndjson"
        case .csv: "text/csv; charset=utf-8; header=present"
        }
    }

    /// The media types of the format.
    private var mediaTypes: Set<String> {
        switch self {
        case .ndjson: ["application/x-ndjson", "application/ndjson", "application/jsonl"]
        case .csv: ["text/csv"]
        }
    }

    /// The format for a media type, whatever its parameters.
    init?(mediaType: Substring) {
        let essence = (mediaType.split(separator: ";", maxSplits: 1).first ?? "").trimming { $0 == " " || $0 == "\t" }
        guard let format = Self.allCases.first(where: { $0.mediaTypes.contains(essence.lowercased()) }) else {
            return nil
        }
        self = format
    }
}

extension APIRequest {
    /// The format of an export: `?format=`, else the first supported type in `Accept`, else NDJSON.
    func exportFormat() throws(GatewayError) -> RecordFormat {
        if let format = try word("format", RecordFormat.self) { return format }
        let wanted = headers[values: .accept].flatMap { $0.split(separator: ",") }
        return wanted.lazy.compactMap { RecordFormat(mediaType: $0) }.first ?? .ndjson
    }

    /// The format of the body, by its content type.
    func importFormat() throws -> RecordFormat {
        guard let format = RecordFormat(mediaType: (headers[.contentType] ?? "")[...]) else {
            throw APIError.unsupportedRecords
        }
        return format
    }
}
