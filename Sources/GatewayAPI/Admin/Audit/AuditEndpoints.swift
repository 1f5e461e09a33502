import GatewayCore
import HTTPServing
import HTTPTypes
import StrictJSON

/// `/admin/v1/audit`: who changed what, and when.
struct AuditEndpoints: Sendable {
    private static let filters: [ListFilter] = [
        .text("actor"), .text("kind"), .text("resourceID"), .text("operation"), .text("requestID"), .instant("from"),
        .instant("to"),
    ]

    let reader: any AuditReader

    /// `GET /admin/v1/audit`: one page of changes, newest first.
    @Sendable func list(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        let page = try await reader.changes(request.listQuery(request.listFilters(Self.filters), for: caller))
        return .json(.ok) { json in page.write(to: &json) { $0.write(to: &$1) } }
    }

    /// `GET /admin/v1/audit:export`: all changes, one JSON object per line. They are read in pages while they are sent,
    /// so neither memory nor a transaction holds all of them.
    @Sendable func export(_ request: APIRequest, _ caller: Caller) async throws -> ServerResponse {
        var query = ListQuery(
            filters: try request.listFilters(Self.filters, besides: []), pageSize: 1000,
            reach: request.reach(of: caller))
        // A refusal must come before the first byte.
        let first = try await reader.changes(query)
        let fields: HeaderFields = [.contentType: "application/x-ndjson", .cacheControl: "no-store"]
        query.pageToken = first.nextPageToken
        return ServerResponse(
            head: ResponseHead(status: .ok, headerFields: fields),
            body: .stream(length: nil) { [reader, query] writer in
                var query = query
                var page = first
                while true {
                    if !page.items.isEmpty { try await writer.write(Self.lines(of: page.items)) }
                    guard page.nextPageToken != nil else { return }
                    page = try await reader.changes(query)
                    query.pageToken = page.nextPageToken
                }
            })
    }

    /// Formats records, on no thread that serves connections.
    @concurrent private static func lines(of records: [AuditRecord]) async -> [UInt8] {
        var json = JSONWriter(capacity: 700 * records.count)
        for record in records {
            json.object { record.write(to: &$0) }
            json.endLine()
        }
        return json.bytes
    }
}
