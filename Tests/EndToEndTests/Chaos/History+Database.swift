import Foundation
import LibPQ
import PostgresTesting

extension History {
    /// Adds the content of the database, all at one instant.
    mutating func read(from site: Deployment) async throws {
        let session = try site.session()
        try await session.runScript("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        ledger = try await Self.rows(Self.ledgerQuery, session)
        grants = try await Self.rows(Self.grantQuery, session)
        quotas = try await Self.rows(Self.quotaQuery, session)
        counters = try await Self.rows(Self.counterQuery, session)
        try await session.runScript("COMMIT")
        await session.close()
        do { _ = try await Program.run(["audit-quotas"], environment: site.environment) } catch { audit = "\(error)" }
    }

    private static func rows<Row: Decodable>(_ query: String, _ session: PostgresConnection) async throws -> [Row] {
        let decoder = JSONDecoder()
        return try await session.texts("SELECT to_json(t)::text FROM (\(query)) t").map {
            try decoder.decode(Row.self, from: Data($0.utf8))
        }
    }

    private static let ledgerQuery = """
        SELECT i.id, i.request_id AS request, i.policy_seq AS "policySeq", i.principal, i.grant_id AS grant, i.delivery,
            i.method, i.bucket, i.object_key AS key, extract(epoch FROM i.issued_at) AS "issuedAt",
            floor(extract(epoch FROM i.expires_at)) AS "expiresAt", \(microseconds("pg_xact_commit_timestamp(i.xmin)"))
            AS "committedAt",
            coalesce((
                SELECT json_agg(json_build_object('quota', c.quota, 'amount', c.amount))
                FROM unnest(i.quota_ids, i.quota_amounts) AS c (quota, amount)
            ), '[]') AS charges
        FROM issuances i
        """

    private static let grantQuery = """
        SELECT g.id, g.principal, c.seq AS "createdSeq", r.seq AS "removedSeq",
            CASE WHEN g.removed_at IS NOT NULL THEN \(microseconds("pg_xact_commit_timestamp(g.xmin)")) END AS "removedAt"
        FROM grants g JOIN policy_log c ON c.tag = g.created_change LEFT JOIN policy_log r ON r.tag = g.removed_change
        """

    private static let quotaQuery = """
        SELECT q.id, q.principal, q.metric, q.period, q.sharing = 'shared' AS "isShared" FROM quotas q
        """

    private static let counterQuery = """
        SELECT u.quota_id AS quota, u.holder, extract(epoch FROM u.period_start)::bigint AS period, u.used,
            u.released - u.archived AS settled
        FROM quota_usage u
        """

    private static func microseconds(_ time: String) -> String { "(extract(epoch FROM \(time)) * 1000000)::bigint" }
}
