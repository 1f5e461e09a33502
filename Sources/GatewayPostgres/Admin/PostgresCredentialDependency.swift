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
        try await first(Self.read, credential)
    }

    /// Reads whether and how a credential is used.
    public func use(of credential: UUID, at endpoint: String) async throws(GatewayError) -> CredentialUse {
        try await first(Self.readUse, (credential, endpoint))
    }

    private func first<Parameters, Row>(
        _ statement: Statement<Parameters, Row>, _ parameters: Parameters
    ) async throws(GatewayError) -> Row {
        let found: Row?
        do throws(PostgresError) {
            found = try await pool.execute(statement, parameters).first
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

    /// The audit knows who entered the credential, and each bucket that there ever was. Without the line of its creation nobody
    /// is taken for the maker.
    static let readUse = Statement<(credential: UUID, endpoint: String), CredentialUse>(
        """
        SELECT EXISTS (SELECT FROM buckets b WHERE b.credential_id = c.id AND b.endpoint = $2),
            CASE WHEN NOT EXISTS (
                SELECT FROM admin_audit a
                WHERE a.kind = 'Bucket' AND c.id::text IN (a.before ->> 'credentialID', a.after ->> 'credentialID')
            ) AND NOT EXISTS (SELECT FROM buckets b WHERE b.credential_id = c.id)
            THEN (
                SELECT min(a.actor) FROM admin_audit a
                WHERE a.kind = 'StorageCredential' AND a.resource_id = c.id::text
                HAVING count(DISTINCT a.actor) = 1 AND bool_or(a.operation = 'create')
            ) END
        FROM storage_credentials c
        WHERE c.id = $1
        """, onlyReads: true
    ) {
        [$0.credential, $0.endpoint]
    } decode: { row throws(PostgresError) in
        let maker = try row.decode(1, as: String?.self)
        return CredentialUse(
            signsForEndpoint: try row.decode(0), soleMaker: maker.flatMap { try? Principal($0) })
    }
}
