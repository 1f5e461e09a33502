import GatewayCore
import LibPQ
import Logging

/// Reads the audit of admins' changes in PostgreSQL.
struct PostgresAuditReader: AuditReader {
    private let pool: StorePool

    init(pool: PostgresPool, logger: Logger) {
        self.pool = StorePool(pool: pool, logger: logger, complaint: "the audit cannot be read")
    }

    /// Reads a page of changes, newest first.
    func changes(_ query: ListQuery) async throws(GatewayError) -> Page<AuditRecord> {
        let rows = try await pool.execute(AuditTable.page, AuditTable.listing.request(query))
        return AuditTable.listing.page(rows, of: query) { [$0.id.lowercaseText] }
    }
}
