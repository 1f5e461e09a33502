public import FoundationEssentials
public import GatewayCore
public import LibPQ
public import Logging

/// Reads past states of policy in PostgreSQL. Removed rows stay, with the changes that created and removed them.
public struct PostgresPolicyHistory: PolicyHistory {
    private let pool: StorePool

    /// Creates a reader.
    ///
    /// - Parameters:
    ///   - pool: Connections logged in as the gateway, with ``PostgresIssuances/sessionSettings``.
    ///   - logger: Receives the reasons why rows cannot be read.
    public init(pool: PostgresPool, logger: Logger) {
        self.pool = StorePool(
            pool: pool, logger: logger, complaint: "the history of policy cannot be read", patience: .seconds(5))
    }

    /// Reads the last change of policy up to an instant.
    public func moment(at instant: Date) async throws(GatewayError) -> PolicyMoment? {
        try await pool.execute(PolicyHistoryStatements.momentAt, instant).first
    }

    /// Reads a change of policy by its number. If its line is gone, reads the last earlier one that is still known.
    public func moment(ofChange sequence: Int64) async throws(GatewayError) -> PolicyMoment? {
        try await pool.execute(PolicyHistoryStatements.moment, sequence).first
    }

    /// Reads the groups of a user after a change.
    public func groups(of principal: Principal, after sequence: Int64) async throws(GatewayError) -> [Principal] {
        try await pool.execute(PolicyHistoryStatements.groups, (principal, sequence))
    }

    /// Reads the grants of principals that may match a key after a change; for a listing, also those that deny below.
    public func grants(
        of principals: [Principal], in bucket: BucketName, for key: ObjectKey, listing folder: ExactText?,
        after sequence: Int64
    ) async throws(GatewayError) -> [Grant] {
        let place = KeyPlace(principals: principals, bucket: bucket, key: key, folder: folder, sequence: sequence)
        return try await pool.execute(PolicyHistoryStatements.grants, place)
    }

    /// Reads a grant as it was after a change.
    public func grant(_ id: UUID, after sequence: Int64) async throws(GatewayError) -> Grant? {
        try await pool.execute(PolicyHistoryStatements.grant, (id, sequence)).first
    }

    /// Reads live allow grants near a key.
    public func grants(
        near key: ObjectKey, in bucket: BucketName, of principals: [Principal]
    ) async throws(GatewayError) -> [Grant] {
        let place = KeyPlace(principals: principals, bucket: bucket, key: key, sequence: 0)
        return try await pool.execute(PolicyHistoryStatements.grantsNear, place)
    }
}

/// Where to look for grants.
struct KeyPlace: Sendable {
    var principals: [Principal]
    var bucket: BucketName
    var key: ObjectKey
    /// The folder of a listing.
    var folder: ExactText?
    /// Number of the change after which policy is read.
    var sequence: Int64
}

/// Statements that read past states of policy.
enum PolicyHistoryStatements {
    /// Columns of a grant version `r`.
    private static let columns = GrantTable.columns.stored(of: "r") + ", r.created_change, r.removed_change"

    /// Reads the last change up to an instant. Numbers and times ascend together, since each line gets both under the
    /// lock. Times are shown in milliseconds: what happened within that of the instant has happened.
    static let momentAt = Statement<Date, PolicyMoment>(
        """
        SELECT m.seq, m.at FROM policy_moments m
        WHERE m.at < $1::timestamptz + interval '1 millisecond' ORDER BY m.seq DESC LIMIT 1
        """, onlyReads: true
    ) {
        [$0]
    } decode: { row throws(PostgresError) in
        PolicyMoment(sequence: try row.next(), at: try row.next())
    }

    /// Reads a change by its number. Of the lines that were pruned, those that the history of grants and memberships
    /// rests on are still known. A pruned line that is no longer known changed neither, so the state after the last
    /// known line applies.
    static let moment = Statement<Int64, PolicyMoment>(
        """
        SELECT m.seq, m.at FROM policy_moments m
        WHERE m.seq <= $1 AND $1 <= (SELECT max(l.seq) FROM policy_log l)
        ORDER BY m.seq DESC LIMIT 1
        """, onlyReads: true
    ) {
        [$0]
    } decode: { row throws(PostgresError) in
        PolicyMoment(sequence: try row.next(), at: try row.next())
    }

    static let groups = Statement<(principal: Principal, sequence: Int64), Principal>(
        """
        SELECT DISTINCT h.group_principal
        FROM group_member_history h
        JOIN policy_moments c ON c.tag = h.created_change
        LEFT JOIN policy_moments r ON r.tag = h.removed_change
        WHERE h.member_principal = $1 AND c.seq <= $2 AND (r.seq IS NULL OR r.seq > $2)
        """, onlyReads: true
    ) {
        [$0.principal.rawValue, $0.sequence]
    } decode: { row throws(PostgresError) in
        try row.nextParsed(Principal.init(_:))
    }

    /// Reads the grants that may match a key. Live and removed versions have an index each. The number of templates is
    /// limited as it is for decisions; deny templates come first. `$5` is the folder of a listing, or NULL.
    static let grants = Statement<KeyPlace, Grant>(
        """
        WITH versions AS MATERIALIZED (
            SELECT \(columns) FROM unnest($1::text[]) AS p (principal)
            CROSS JOIN unnest($3::text[]) AS k (prefix)
            CROSS JOIN LATERAL (
                SELECT \(columns) FROM grants r
                WHERE r.principal = p.principal AND r.bucket = $2 AND r.prefix = k.prefix AND NOT r.is_template
                    AND r.removed_at IS NULL
                UNION ALL
                SELECT \(columns) FROM grants r
                WHERE r.principal = p.principal AND r.bucket = $2 AND r.prefix = k.prefix AND NOT r.is_template
                    AND r.removed_at IS NOT NULL
            ) r
            UNION ALL
            SELECT \(columns) FROM unnest($1::text[]) AS p (principal)
            CROSS JOIN LATERAL (
                SELECT \(columns) FROM grants r
                WHERE r.principal = p.principal AND r.bucket = $2 AND NOT r.is_template AND r.effect = 'deny'
                    AND r.prefix >= $5 AND starts_with(r.prefix, $5) AND NOT r.prefix = ANY ($3::text[])
            ) r
            UNION ALL
            SELECT \(columns) FROM unnest($1::text[]) AS p (principal)
            CROSS JOIN LATERAL (
                SELECT \(columns) FROM grants r
                WHERE r.principal = p.principal AND r.bucket = $2 AND r.is_template AND r.removed_at IS NULL
                UNION ALL
                SELECT \(columns) FROM grants r
                WHERE r.principal = p.principal AND r.bucket = $2 AND r.is_template AND r.removed_at IS NOT NULL
            ) r
        ),
        standing AS (
            SELECT \(columns), row_number() OVER (
                PARTITION BY r.principal, r.is_template ORDER BY r.effect = 'allow', r.id
            ) AS place
            FROM versions r
            JOIN policy_moments c ON c.tag = r.created_change
            LEFT JOIN policy_moments d ON d.tag = r.removed_change
            WHERE c.seq <= $4 AND (d.seq IS NULL OR d.seq > $4)
        )
        SELECT \(GrantTable.columns.selected(of: "g")) FROM standing g
        WHERE NOT g.is_template OR g.place <= \(PrincipalPolicy.maxTemplates)
        """, onlyReads: true
    ) {
        [
            $0.principals.map(\.rawValue), $0.bucket.rawValue, $0.key.candidatePrefixes.map(\.rawValue), $0.sequence,
            $0.folder?.rawValue,
        ]
    }

    static let grant = Statement<(id: UUID, sequence: Int64), Grant>(
        """
        SELECT \(GrantTable.columns.selected(of: "g")) FROM grant_history g
        WHERE g.id = $1 AND g.created_seq <= $2 AND (g.removed_seq IS NULL OR g.removed_seq > $2)
        ORDER BY g.created_seq DESC LIMIT 1
        """, onlyReads: true
    ) {
        [$0.id, $0.sequence]
    }

    /// Reads grants near a key. Each branch follows an index from the key's place and stops after a few rows.
    static let grantsNear = Statement<KeyPlace, Grant>(
        """
        SELECT \(GrantTable.columns.selected(of: "g"))
        FROM (
            SELECT \(columns) FROM unnest($1::text[]) AS p (principal)
            CROSS JOIN LATERAL (
                (
                    SELECT \(columns) FROM grants r
                    WHERE r.principal = p.principal AND r.bucket = $2 AND r.prefix <= $4 AND r.removed_at IS NULL
                        AND r.effect = 'allow'
                    ORDER BY r.prefix DESC LIMIT 20
                )
                UNION ALL
                (
                    SELECT \(columns) FROM grants r
                    WHERE r.principal = p.principal AND r.bucket = $2 AND r.prefix > $4 AND r.removed_at IS NULL
                        AND r.effect = 'allow'
                    ORDER BY r.prefix LIMIT 20
                )
            ) r
            UNION ALL
            SELECT \(columns) FROM unnest($3::text[]) AS k (prefix)
            CROSS JOIN LATERAL (
                SELECT \(columns) FROM grants r
                WHERE r.bucket = $2 AND r.prefix = k.prefix AND NOT r.is_template AND r.removed_at IS NULL
                    AND r.effect = 'allow'
                LIMIT 20
            ) r
        ) g
        """, onlyReads: true
    ) {
        [
            $0.principals.map(\.rawValue), $0.bucket.rawValue, $0.key.candidatePrefixes.map(\.rawValue),
            $0.key.rawValue,
        ]
    }
}
