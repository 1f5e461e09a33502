import Foundation
public import GatewayCore
import LibPQ
import Logging

/// The audit in PostgreSQL, to be read.
public struct PostgresAudit: AuditReader {
    private static let filters: [AdminColumn] = [
        .text("actor"), .text("kind"), .text("resourceID"), .text("operation"), .text("requestID"), .instant("from"),
        .instant("until"),
    ]

    private let pool: PostgresPool
    private let logger: Logger

    init(pool: PostgresPool, logger: Logger) {
        self.pool = pool
        self.logger = logger
    }

    /// Reads a page of changes, the newest first.
    public func changes(_ query: ListQuery) async throws(GatewayError) -> Page<AuditRecord> {
        for (name, value) in query.filters {
            guard let filter = Self.filters.first(where: { $0.name == name }) else {
                throw .invalidArgument(field: name, reason: "There is no such filter.")
            }
            guard filter.takes(value) else {
                throw .invalidArgument(field: name, reason: "No row can have this value.")
            }
        }
        let tokens = PageToken(of: "Audit", filters: query.filters)
        var before: String?
        if let text = query.pageToken {
            let id = try tokens.values(in: text, count: 1)[0]
            guard AdminColumn.isLowerCaseUUID(id) else { throw PageToken.foreign }
            before = id
        }
        let limit = min(max(query.pageSize, 1), 1000)
        var rows: [AuditRecord]
        do throws(PostgresError) {
            rows = try await pool.execute(
                Self.page,
                // One more tells whether there is a next page.
                PageRequest(
                    filters: Self.filters.map { query.filters[$0.name] }, after: [before], limit: Int64(limit) + 1))
        } catch {
            logger.report(error, "the audit cannot be read", in: pool.outage)
            throw error.asGatewayError
        }
        guard rows.count > limit else { return Page(items: rows, nextPageToken: nil) }
        rows.removeLast()
        return Page(items: rows, nextPageToken: rows.last.map { tokens.text(after: [$0.id.lowercaseText]) })
    }

    static let page = Statement<PageRequest, AuditRecord>(
        """
        SELECT a.id, a.at, a.actor, a.request_id, a.operation, a.kind, a.resource_id, a.before::text, a.after::text
        FROM admin_audit a
        WHERE ($1::text IS NULL OR a.actor = $1) AND ($2::text IS NULL OR a.kind = $2)
            AND ($3::text IS NULL OR a.resource_id = $3) AND ($4::text IS NULL OR a.operation = $4)
            AND ($5::text IS NULL OR a.request_id = $5) AND ($6::text IS NULL OR a.at >= $6::text::timestamptz)
            AND ($7::text IS NULL OR a.at < $7::text::timestamptz) AND ($8::text IS NULL OR a.id < $8::text::uuid)
        ORDER BY a.id DESC LIMIT $9
        """, onlyReads: true
    ) {
        $0.parameters
    } decode: { row throws(PostgresError) in
        AuditRecord(
            id: try row.decode(0), at: try row.decode(1), actor: try row.decode(2), requestID: try row.decode(3),
            operation: try row.decode(4), kind: try row.decode(5), resourceID: try row.decode(6),
            before: try row.decode(7), after: try row.decode(8))
    }
}
