import FoundationEssentials
import GatewayCore
import LibPQ
import Logging

/// Reads the issuers with sign-in, and the stores of buckets.
struct PostgresConsoleDirectory: ConsoleDirectory {
    private let pool: StorePool

    init(pool: PostgresPool, logger: Logger) {
        self.pool = StorePool(pool: pool, logger: logger, complaint: "issuers for the console cannot be read")
    }

    /// Reads the rows.
    func surroundings() async throws(GatewayError) -> ConsoleSurroundings {
        let limit = Int64(ConsoleSurroundings.maxCount)
        return ConsoleSurroundings(
            issuers: try await pool.execute(Self.issuers, limit), stores: try await pool.execute(Self.stores, limit))
    }
}

extension PostgresConsoleDirectory {
    static let issuers = Statement<Int64, SignInIssuer>(
        """
        SELECT i.id, i.issuer, i.console::text FROM issuers i WHERE i.console IS NOT NULL ORDER BY i.issuer LIMIT $1
        """, onlyReads: true
    ) {
        [$0]
    } decode: { row throws(PostgresError) in
        let id: UUID = try row.next()
        let issuer: String = try row.next()
        let column = row.place
        guard let console: ConsoleSignIn = try row.nextJSON(in: "issuer \(id.lowercaseText)") else {
            throw .decoding(column: column, reason: "no sign-in")
        }
        return SignInIssuer(id: id, issuer: issuer, console: console)
    }

    static let stores = Statement<Int64, StoreSite>(
        """
        SELECT DISTINCT p.url, p.addressing = 'virtual'
        FROM buckets b
        CROSS JOIN LATERAL (
            SELECT e.value ->> 'url' AS url, coalesce(
                    e.value ->> 'addressing', CASE WHEN e.value ? 'signing' THEN 'cname' ELSE b.addressing END
                ) AS addressing
            FROM jsonb_each(b.public_endpoints) e
            UNION ALL
            SELECT b.endpoint, b.addressing WHERE NOT b.public_endpoints ? 'default'
        ) p
        ORDER BY 1, 2 LIMIT $1
        """, onlyReads: true
    ) {
        [$0]
    } decode: { row throws(PostgresError) in
        StoreSite(endpoint: try row.next(), hasBucketsAsHosts: try row.next())
    }
}
