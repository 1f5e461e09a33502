import FoundationEssentials
import GatewayCore
import LibPQ
import Logging

/// Finds what depends on a storage credential, from the rows of buckets, the ledger and the audit.
struct PostgresCredentialDependency: CredentialDependency {
    private let pool: StorePool

    init(pool: PostgresPool, logger: Logger) {
        self.pool = StorePool(
            pool: pool, logger: logger, complaint: "what depends on a credential cannot be read")
    }

    /// Reads the buckets and live issuances that depend on a credential.
    func dependents(of credential: UUID) async throws(GatewayError) -> CredentialDependents {
        try await first(Self.read, credential)
    }

    /// Reads whether a credential signs for an endpoint, and who is its only maker.
    func use(of credential: UUID, at endpoint: String) async throws(GatewayError) -> CredentialUse {
        try await first(Self.readUse, (credential, endpoint))
    }

    private func first<Parameters, Row>(
        _ statement: Statement<Parameters, Row>, _ parameters: Parameters
    ) async throws(GatewayError) -> Row {
        guard let found = try await pool.execute(statement, parameters).first else {
            throw .notFound(.storageCredential)
        }
        return found
    }

    /// Reads the buckets of a credential and the issuances that are still alive.
    ///
    /// No issuance lives longer than a week, so older days need not be read. Each ledger row names the state of policy
    /// that its decision rests on. A decision made before the key was changed was signed with the previous key.
    static let read = Statement<UUID, CredentialDependents>(
        """
        SELECT ARRAY(
                SELECT b.name FROM buckets b WHERE c.id IN (b.credential_id, b.cdn_credential_id) ORDER BY b.name
            ),
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
            WHERE a.credential_id = c.id AND a.expires_at > now() AND a.issued_at > now() - \(LedgerLife.longest)
        ) i
        WHERE c.id = $1
        """, onlyReads: true
    ) {
        [$0]
    } decode: { row throws(PostgresError) in
        let buckets = try row.nextList(BucketName.init(_:))
        let count: Int64 = try row.next()
        let until: Date? = try row.next()
        let hasFormer: Bool = try row.next()
        return CredentialDependents(
            buckets: buckets, alive: .init(count: count, until: until),
            aliveOfPreviousKey: hasFormer ? .init(count: try row.next(), until: try row.next()) : nil)
    }

    /// Reads the use of a credential.
    ///
    /// The audit tells who entered the credential, and by which issuer or API key, and which buckets have ever used it.
    /// The statement names no maker if the audit has no line for the credential's creation, or if the issuer of the
    /// maker's token was changed since: whoever changed it may make such tokens.
    static let readUse = Statement<(credential: UUID, endpoint: String), CredentialUse>(
        """
        SELECT EXISTS (
                SELECT FROM buckets b
                WHERE b.credential_id = c.id AND (
                    b.endpoint = $2
                    OR EXISTS (
                        SELECT FROM jsonb_each(b.public_endpoints) e
                        WHERE e.value ->> 'url' = $2 AND NOT e.value ? 'signing'
                    )
                )
            ), m.actor, m.credential
        FROM storage_credentials c
        LEFT JOIN LATERAL (
            SELECT min(a.actor) AS actor, min(a.credential) AS credential,
                min(a.at) FILTER (WHERE a.operation = '\(AuditOperation.create.rawValue)') AS at
            FROM admin_audit a
            WHERE a.kind = 'StorageCredential' AND a.resource_id = c.id::text
            HAVING count(DISTINCT (a.actor, a.credential)) = 1
                AND bool_or(a.operation = '\(AuditOperation.create.rawValue)')
        ) m ON NOT EXISTS (
            SELECT FROM admin_audit a
            WHERE a.kind = 'Bucket' AND c.id::text IN (
                a.before ->> 'credentialID', a.after ->> 'credentialID',
                a.before #>> '{publicEndpoints,cdn,signing,credentialID}',
                a.after #>> '{publicEndpoints,cdn,signing,credentialID}'
            )
        ) AND NOT EXISTS (
            SELECT FROM admin_audit a
            WHERE a.kind = 'Issuer' AND a.at >= m.at
                AND \(PolicyScope.sql(.issuer, "(coalesce(a.before, a.after) ->> 'issuer')")) = m.credential
        ) AND NOT EXISTS (SELECT FROM buckets b WHERE c.id IN (b.credential_id, b.cdn_credential_id))
        WHERE c.id = $1
        """, onlyReads: true
    ) {
        [$0.credential, $0.endpoint]
    } decode: { row throws(PostgresError) in
        let signs: Bool = try row.next()
        let name: String? = try row.next()
        let credential: String? = try row.next()
        let maker = name.flatMap { try? Principal($0) }.map { actor in
            CredentialUse.Maker(actor: actor, credential: credential.map { PolicyScope(rawValue: $0) })
        }
        return CredentialUse(signsForEndpoint: signs, soleMaker: maker)
    }
}
