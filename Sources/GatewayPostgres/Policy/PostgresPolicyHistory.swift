public import Foundation
public import GatewayCore
public import LibPQ
public import Logging

/// Policy as it was, in PostgreSQL: rows that were removed stay, with the changes that they began and ended with.
public struct PostgresPolicyHistory: PolicyHistory {
    private let pool: StorePool

    /// Makes a reader.
    ///
    /// - Parameters:
    ///   - pool: Logged in as the gateway, its sessions with ``PostgresIssuances/sessionSettings``.
    ///   - logger: Told why rows cannot be read.
    public init(pool: PostgresPool, logger: Logger) {
        self.pool = StorePool(
            pool: pool, logger: logger, complaint: "the history of policy cannot be read", patience: .seconds(5))
    }

    /// The last change of policy up to an instant.
    public func moment(at instant: Date) async throws(GatewayError) -> PolicyMoment? {
        try await pool.execute(PolicyHistoryStatements.momentAt, instant).first
    }

    /// A change of policy by its number, or the last one before it that is still known.
    public func moment(ofChange sequence: Int64) async throws(GatewayError) -> PolicyMoment? {
        try await pool.execute(PolicyHistoryStatements.moment, sequence).first
    }

    /// Groups that rows put a user in after a change.
    public func groups(of principal: Principal, after sequence: Int64) async throws(GatewayError) -> [Principal] {
        try await pool.execute(PolicyHistoryStatements.groups, (principal, sequence))
    }

    /// Grants of principals that may match a key after a change.
    public func grants(
        of principals: [Principal], in bucket: BucketName, for key: ObjectKey, after sequence: Int64
    ) async throws(GatewayError) -> [Grant] {
        let place = KeyPlace(principals: principals, bucket: bucket, key: key, sequence: sequence)
        return try await pool.execute(PolicyHistoryStatements.grants, place)
    }

    /// A grant as it stood after a change.
    public func grant(_ id: UUID, after sequence: Int64) async throws(GatewayError) -> Grant? {
        try await pool.execute(PolicyHistoryStatements.grant, (id, sequence)).first
    }

    /// Live grants that allow and are near a key.
    public func grants(
        near key: ObjectKey, in bucket: BucketName, of principals: [Principal]
    ) async throws(GatewayError) -> [Grant] {
        let place = KeyPlace(principals: principals, bucket: bucket, key: key, sequence: 0)
        return try await pool.execute(PolicyHistoryStatements.grantsNear, place)
    }
}

/// Where grants are looked for.
struct KeyPlace: Sendable {
    var principals: [Principal]
    var bucket: BucketName
    var key: ObjectKey
    /// The change after which.
    var sequence: Int64
}

/// Statements about policy as it was.
enum PolicyHistoryStatements {
    /// Columns of a version `r`.
    private static let columns = GrantTable.columns.stored(of: "r") + ", r.created_change, r.removed_change"

    /// Numbers and times grow together: a line gets both under the lock.
    static let momentAt = Statement<Date, PolicyMoment>(
        "SELECT m.seq, m.at FROM policy_moments m WHERE m.at <= $1 ORDER BY m.seq DESC LIMIT 1", onlyReads: true
    ) {
        [$0]
    } decode: { row throws(PostgresError) in
        PolicyMoment(sequence: try row.next(), at: try row.next())
    }

    /// Of lines that are gone those are known that the history of grants and memberships rests on: as it was after such
    /// a line, it was after those that followed.
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

    /// Live versions and removed ones have an index each. Templates are as many as decisions look at, those that deny
    /// first.
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
        ]
    } decode: { row throws(PostgresError) in
        try Grant(&row)
    }

    static let grant = Statement<(id: UUID, sequence: Int64), Grant>(
        """
        SELECT \(GrantTable.columns.selected(of: "g")) FROM grant_history g
        WHERE g.id = $1 AND g.created_seq <= $2 AND (g.removed_seq IS NULL OR g.removed_seq > $2)
        ORDER BY g.created_seq DESC LIMIT 1
        """, onlyReads: true
    ) {
        [$0.id, $0.sequence]
    } decode: { row throws(PostgresError) in
        try Grant(&row)
    }

    /// Each branch goes along an index from the key's place and stops after a few rows.
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
    } decode: { row throws(PostgresError) in
        try Grant(&row)
    }
}
