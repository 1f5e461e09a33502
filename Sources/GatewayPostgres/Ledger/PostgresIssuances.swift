import Foundation
public import GatewayCore
public import LibPQ
public import Logging

/// Reads the ledger in PostgreSQL.
public struct PostgresIssuances: IssuanceReader {
    private let pool: PostgresPool
    private let logger: Logger

    /// Makes a reader.
    ///
    /// - Parameters:
    ///   - pool: Logged in as the gateway.
    ///   - logger: Told why rows cannot be read.
    public init(pool: PostgresPool, logger: Logger) {
        self.pool = pool
        self.logger = logger
    }

    /// Reads a page of issuances, newest first.
    public func issuances(_ query: IssuanceQuery) async throws(GatewayError) -> Page<RecordedIssuance> {
        let limit = min(max(query.pageSize, 1), 1000)
        var before: UUID?
        if let token = query.pageToken {
            guard let id = UUID(uuidString: token) else {
                throw .invalidArgument(field: "pageToken", reason: "The token is not of a page of this list.")
            }
            before = id
        }
        var rows: [RecordedIssuance]
        do throws(PostgresError) {
            // One more tells whether there is a next page.
            rows = try await pool.execute(Self.page, (before, query.isAlive, Int64(limit) + 1))
        } catch {
            logger.warning("issuances cannot be read", metadata: ["reason": "\(error)"])
            throw error.asGatewayError
        }
        guard rows.count > limit else { return Page(items: rows, nextPageToken: nil) }
        rows.removeLast()
        return Page(items: rows, nextPageToken: rows.last?.id.uuidString.lowercased())
    }

    /// Rows by identifier, which is by time. Nothing lives longer than a week, so that older days need not be read for what is
    /// alive.
    static let page = Statement<(before: UUID?, isAlive: Bool, limit: Int64), RecordedIssuance>(
        """
        SELECT i.id, i.issued_at, i.expires_at, i.delivery, i.principal, i.matched_principal, i.grant_id, i.credential_id,
            string_to_array(i.action, ','), i.method, i.bucket, i.object_key, i.request_id
        FROM issuances i
        WHERE ($1::uuid IS NULL OR i.id < $1)
            AND (NOT $2 OR (i.expires_at > now() AND i.issued_at > now() - interval '8 days'))
        ORDER BY i.id DESC LIMIT $3
        """
    ) {
        [$0.before, $0.isAlive, $0.limit]
    } decode: { row throws(PostgresError) in
        RecordedIssuance(
            id: try row.decode(0), issuedAt: try row.decode(1), expiresAt: try row.decode(2),
            delivery: try row.decode(3), principal: try row.decode(4), matchedPrincipal: try row.decode(5),
            grantID: try row.decode(6), credentialID: try row.decode(7), actions: try row.decode(8),
            method: try row.decode(9), bucket: try row.decode(10), key: try row.decode(11),
            requestID: try row.decode(12))
    }
}
