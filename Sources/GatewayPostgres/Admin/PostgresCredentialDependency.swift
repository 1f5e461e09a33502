public import Foundation
public import GatewayCore
import LibPQ
import Logging

/// What depends on storage credentials, by the rows of buckets and of the ledger.
public struct PostgresCredentialDependency: CredentialDependency {
    private let pool: PostgresPool
    private let logger: Logger

    init(pool: PostgresPool, logger: Logger) {
        self.pool = pool
        self.logger = logger
    }

    /// Reads what depends on a credential.
    public func dependents(of credential: UUID) async throws(GatewayError) -> CredentialDependents {
        let found: CredentialDependents?
        do throws(PostgresError) {
            found = try await pool.execute(Self.read, credential).first
        } catch {
            logger.report(error, "what depends on a credential cannot be read", in: pool.outage)
            throw error.asGatewayError
        }
        guard let found else { throw .notFound(.storageCredential) }
        return found
    }

    /// Nothing lives longer than a week, so that older days need not be read. What was decided before the change of the key was
    /// signed by the one before: the ledger knows the state of policy that each decision rests on.
    static let read = Statement<UUID, CredentialDependents>(
        """
        SELECT ARRAY(SELECT b.name FROM buckets b WHERE b.credential_id = c.id ORDER BY b.name),
            i.count, i.until, c.previous_access_key_id IS NOT NULL, i.former_count, i.former_until
        FROM storage_credentials c
        CROSS JOIN LATERAL (
            SELECT coalesce((SELECT l.seq FROM policy_moments l WHERE l.tag = c.rotated_change), 9223372036854775807) AS seq
        ) r
        CROSS JOIN LATERAL (
            SELECT count(*) AS count, max(a.expires_at) AS until,
                count(*) FILTER (WHERE a.policy_seq < r.seq) AS former_count,
                max(a.expires_at) FILTER (WHERE a.policy_seq < r.seq) AS former_until
            FROM issuances a
            WHERE a.credential_id = c.id AND a.expires_at > now() AND a.issued_at > now() - interval '8 days'
        ) i
        WHERE c.id = $1
        """, onlyReads: true
    ) {
        [$0]
    } decode: { row throws(PostgresError) in
        var buckets: [BucketName] = []
        for name in try row.decode(0, as: [String].self) {
            buckets.append(try parsed(0) { () throws(GatewayError) in try BucketName(name) })
        }
        let hasFormer: Bool = try row.decode(3)
        return CredentialDependents(
            buckets: buckets, alive: .init(count: try row.decode(1), until: try row.decode(2)),
            aliveOfPreviousKey: hasFormer ? .init(count: try row.decode(4), until: try row.decode(5)) : nil)
    }
}
