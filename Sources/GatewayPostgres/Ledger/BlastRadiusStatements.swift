import FoundationEssentials
import GatewayCore
import LibPQ

/// A question about live issuances, and what may be seen of the answer.
struct BlastRadiusQuestion: Sendable {
    var cause: BlastRadius.Cause
    var reach: AdminReach
}

/// One count in a report on live issuances.
struct AliveShare: Sendable {
    var kind: String
    var share: BlastRadius.Share
    var principalCount: Int64

    /// The first instant of which a live issuance may be. Of days that are over and summed up, the sums by caller and
    /// grant tell the hours that have any.
    private static let first = """
        (
            SELECT least(
                (
                    SELECT min(m.hour) FROM caller_sums m
                    WHERE ($1::uuid IS NULL OR m.grant_id = $1) AND ($2::uuid IS NULL OR m.credential_id = $2)
                        AND ($3::text IS NULL OR m.principal = $3)
                        AND m.hour > now() - \(LedgerLife.longest) - interval '1 hour' AND m.last_expires_at > now()
                ),
                (
                    SELECT min(p.day) FROM \(LedgerPool.partitions) p
                    WHERE p.day > now() - interval '9 days'
                        AND NOT EXISTS (SELECT FROM summed_caller_days s WHERE s.starts_at = p.day)
                ),
                now()
            )
        )
        """

    /// Counts the live issuances. None lives longer than a week, so older days need not be read.
    static let statement = Statement<BlastRadiusQuestion, AliveShare>(
        """
        WITH alive AS MATERIALIZED (
            SELECT i.principal, i.bucket, i.delivery, i.credential_id::text AS credential, i.grant_id::text AS grant_id,
                i.expires_at
            FROM issuances i
            WHERE i.issued_at > now() - \(LedgerLife.longest) AND i.issued_at >= \(first) AND i.expires_at > now()
                AND ($1::uuid IS NULL OR i.grant_id = $1) AND ($2::uuid IS NULL OR i.credential_id = $2)
                AND ($3::text IS NULL OR i.principal = $3) AND \(IssuanceFilter.isInside("$4"))
                AND ($5::text[] IS NULL OR i.principal = ANY ($5))
        )
        SELECT 'all', '', count(*), coalesce(max(a.expires_at), now()), count(DISTINCT a.principal) FROM alive a
        UNION ALL
        (
            SELECT 'principal', a.principal, count(*), max(a.expires_at), 0 FROM alive a
            GROUP BY a.principal ORDER BY count(*) DESC, a.principal LIMIT \(BlastRadius.maxPrincipals)
        )
        UNION ALL
        (
            SELECT 'grant', a.grant_id, count(*), max(a.expires_at), 0 FROM alive a
            GROUP BY a.grant_id ORDER BY count(*) DESC, a.grant_id LIMIT \(BlastRadius.maxPrincipals)
        )
        UNION ALL
        SELECT 'delivery', a.delivery, count(*), max(a.expires_at), 0 FROM alive a GROUP BY a.delivery
        UNION ALL
        SELECT 'bucket', a.bucket, count(*), max(a.expires_at), 0 FROM alive a GROUP BY a.bucket
        UNION ALL
        SELECT 'credential', a.credential, count(*), max(a.expires_at), 0 FROM alive a GROUP BY a.credential
        """, onlyReads: true
    ) {
        $0.cause.parameters + [$0.reach.parameter, $0.reach.onlyUsers]
    } decode: { row throws(PostgresError) in
        AliveShare(
            kind: try row.next(),
            share: BlastRadius.Share(
                name: try row.next(), count: try row.next(), aliveUntil: try row.next()),
            principalCount: try row.next())
    }

    /// Tests whether the grant or credential exists or ever existed.
    static let isKnown = Statement<BlastRadius.Cause, Bool>(
        """
        SELECT EXISTS (SELECT FROM grants g WHERE g.id = $1::uuid)
            OR EXISTS (SELECT FROM storage_credentials c WHERE c.id = $2::uuid) OR $3::text IS NOT NULL
        """, onlyReads: true
    ) {
        $0.parameters
    }
}

/// One live session in a report on live issuances.
struct AliveSession: Sendable {
    var session: BlastRadius.Session
    /// The number of all sessions, including those not listed.
    var total: Int64

    /// Lists the live sessions and cookies that may rest on a grant or credential.
    ///
    /// For each session, the ledger names only the widest of the grants it rests on. Any other allow grant of the
    /// bucket may have contributed if it shares an action, and its prefix lies above or below the session's. Past group
    /// memberships are not known, so grants to groups count for every session.
    static let statement = Statement<BlastRadiusQuestion, AliveSession>(
        """
        SELECT i.principal, i.bucket, i.object_key, string_to_array(i.action, ','), i.credential_id, i.expires_at,
            count(*) OVER ()
        FROM issuances i
        WHERE i.issued_at > now() - \(LedgerLife.longest) AND i.expires_at > now()
            AND i.delivery IN ('sts', 'cdn-cookies')
            AND ($2::uuid IS NULL OR i.credential_id = $2) AND ($3::text IS NULL OR i.principal = $3)
            AND \(IssuanceFilter.isInside("$4"))
            AND (
                $1::uuid IS NULL OR i.grant_id = $1
                OR EXISTS (
                    SELECT FROM grants g
                    WHERE g.id = $1 AND g.effect = 'allow' AND g.bucket = i.bucket
                        AND (g.principal = i.principal OR NOT starts_with(g.principal, 'user:'))
                        AND g.actions && string_to_array(i.action, ',')
                        AND (
                            starts_with(i.object_key, split_part(g.prefix, '${', 1))
                            OR starts_with(split_part(g.prefix, '${', 1), i.object_key)
                        )
                )
            )
        GROUP BY i.principal, i.bucket, i.object_key, i.action, i.credential_id, i.expires_at
        ORDER BY i.expires_at DESC, i.principal, i.bucket, i.object_key LIMIT \(BlastRadius.maxSessions)
        """, onlyReads: true
    ) {
        $0.cause.parameters + [$0.reach.parameter]
    } decode: { row throws(PostgresError) in
        AliveSession(
            session: BlastRadius.Session(
                principal: try row.next(), bucket: try row.next(), prefix: try row.next(),
                actions: try row.next(), credentialID: try row.next(), expiresAt: try row.next()),
            total: try row.next())
    }
}

extension BlastRadius.Cause {
    /// The grant, the credential and the principal. Two of them are absent.
    fileprivate var parameters: [any PostgresValue] {
        let none: UUID? = nil
        let nobody: String? = nil
        return switch self {
        case .grant(let id): [UUID?.some(id), none, nobody]
        case .credential(let id): [none, UUID?.some(id), nobody]
        case .principal(let principal): [none, none, String?.some(principal.rawValue)]
        }
    }
}
