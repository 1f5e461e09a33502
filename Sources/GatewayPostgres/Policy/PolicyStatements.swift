import Foundation
import GatewayCore
import LibPQ

/// What one call loads, as parallel columns: the n-th of each kind share a row of the answer.
struct PolicyQuestion: Sendable {
    var principals: [Principal] = []
    var buckets: [BucketName] = []
    var credentials: [UUID] = []
    var issuers: [String] = []
    var apiKeys: [String] = []
    var tickets: [String] = []
    var literalGrantLimit: Int64
}

/// A row of an answer to a ``PolicyQuestion``.
struct LoadedRow: Sendable {
    var position: PolicyPosition
    var principal: PrincipalRows
    var bucket: Bucket?
    var credential: StorageCredentialRow?
    var issuer: IssuerRow?
    var apiKey: APIKey?
    var ticket: TicketRow?
}

/// Statements that read policy.
enum PolicyStatements {
    /// The end of the log, where the schema is the one that this program was built for; else nothing, so that no decision is made.
    private static let latest = """
        (
            SELECT seq, tag FROM policy_log
            WHERE \(SchemaState.carried.condition)
            ORDER BY seq DESC LIMIT 1
        )
        """

    /// The n-th of each kind of key, with what is found for them.
    ///
    /// Literal grants are counted first, no further than one beyond the limit, and read only where they are within it. Each
    /// `LATERAL` with an aggregate is a loop over an index; nothing here can become a scan of all grants.
    static let load = Statement<PolicyQuestion, LoadedRow>(
        """
        SELECT l.seq, l.tag,
            ARRAY(SELECT m.group_principal FROM group_members m WHERE m.member_principal = a.principal),
            n.literals <= $7,
            g.ids, g.buckets, g.prefixes, g.are_templates, g.actions, g.effects, g.conditions, g.not_before, g.not_after,
            g.notes, g.created_by, g.created_at,
            q.ids, q.buckets, q.actions, q.metrics, q.periods, q.sharings, q.limits, q.created_at,
            a.principal,
            \(Bucket.columns),
            \(StorageCredentialRow.columns),
            \(IssuerRow.columns),
            \(APIKey.columns),
            \(TicketRow.columns)
        FROM \(latest) l
        LEFT JOIN unnest($1::text[], $2::text[], $3::uuid[], $4::text[], $5::text[], $6::text[])
            WITH ORDINALITY AS a (principal, bucket, credential, issuer, api_key, ticket, place) ON true
        LEFT JOIN LATERAL (
            SELECT count(*) AS literals FROM (
                SELECT FROM grants r
                WHERE r.principal = a.principal AND r.removed_at IS NULL AND NOT r.is_template
                ORDER BY r.bucket, r.prefix LIMIT $7 + 1
            ) s
        ) n ON true
        LEFT JOIN LATERAL (
            SELECT array_agg(r.id) AS ids, array_agg(r.bucket) AS buckets, array_agg(r.prefix) AS prefixes,
                array_agg(r.is_template) AS are_templates, array_agg(array_to_string(r.actions, ',')) AS actions,
                array_agg(r.effect) AS effects, array_agg(nullif(r.conditions, '{}')::text) AS conditions,
                array_agg(r.not_before) AS not_before, array_agg(r.not_after) AS not_after, array_agg(r.note) AS notes,
                array_agg(r.created_by) AS created_by, array_agg(r.created_at) AS created_at
            FROM (
                SELECT \(GrantRow.stored) FROM grants r
                WHERE r.principal = a.principal AND r.removed_at IS NULL AND r.is_template
                UNION ALL
                (
                    SELECT \(GrantRow.stored) FROM grants r
                    WHERE r.principal = a.principal AND r.removed_at IS NULL AND NOT r.is_template
                        AND n.literals <= $7
                    ORDER BY r.bucket, r.prefix LIMIT $7
                )
            ) r
        ) g ON true
        LEFT JOIN LATERAL (
            SELECT array_agg(r.id) AS ids, array_agg(r.bucket) AS buckets, array_agg(r.action) AS actions,
                array_agg(r.metric) AS metrics, array_agg(r.period) AS periods, array_agg(r.sharing) AS sharings,
                array_agg(r.quota_limit) AS limits, array_agg(r.created_at) AS created_at
            FROM quotas r WHERE r.principal = a.principal
        ) q ON true
        LEFT JOIN buckets b ON b.name = a.bucket
        LEFT JOIN storage_credentials c ON c.id = a.credential
        LEFT JOIN issuers i ON i.issuer = a.issuer
        LEFT JOIN LATERAL (
            SELECT \(APIKey.stored) FROM api_keys r WHERE r.prefix = a.api_key
            UNION ALL
            SELECT r.id, r.previous_prefix, r.previous_hash, r.name, r.principal, r.groups, r.roles,
                least(r.expires_at, r.previous_expires_at), r.created_at
            FROM api_keys r WHERE r.previous_prefix = a.api_key
            LIMIT 1
        ) k ON true
        LEFT JOIN tickets t ON t.name = a.ticket
        ORDER BY a.place
        """, onlyReads: true
    ) {
        [
            $0.principals.map(\.rawValue), $0.buckets.map(\.rawValue), $0.credentials, $0.issuers, $0.apiKeys,
            $0.tickets, $0.literalGrantLimit,
        ]
    } decode: { row throws(PostgresError) in
        try LoadedRow(row)
    }

    /// Literal grants at exact places. The fence keeps each place a lookup of its own by all three columns.
    static let grantsAtPlaces = Statement<[GrantPlace], (position: PolicyPosition, place: Int, grant: Grant?)>(
        """
        SELECT l.seq, l.tag, a.place, \(GrantRow.columns)
        FROM \(latest) l
        LEFT JOIN unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS a (principal, bucket, prefix, place) ON true
        LEFT JOIN LATERAL (
            SELECT \(GrantRow.stored) FROM grants r
            WHERE r.principal = a.principal AND r.bucket = a.bucket AND r.prefix = a.prefix AND NOT r.is_template
                AND r.removed_at IS NULL
            OFFSET 0
        ) g ON true
        """, onlyReads: true
    ) { places in
        [places.map(\.principal.rawValue), places.map(\.bucket.rawValue), places.map(\.prefix.rawValue)]
    } decode: { row throws(PostgresError) in
        let position = PolicyPosition(sequence: try row.decode(0), tag: try row.decode(1))
        let place = Int(try row.decode(2, as: Int64?.self) ?? 0)
        guard try row.decode(3, as: UUID?.self) != nil else { return (position, place, nil) }
        return (position, place, try GrantRow(row, from: 3).grant(3))
    }

    /// Literal grants of principals in a bucket that cover a prefix or lie below it, some of each kind and principal at most.
    static let grantsAround = Statement<AroundQuestion, (position: PolicyPosition, grant: Grant?)>(
        """
        SELECT l.seq, l.tag, \(GrantRow.columns)
        FROM \(latest) l
        LEFT JOIN unnest($1::text[]) AS a (principal) ON true
        LEFT JOIN LATERAL (
            (
                SELECT \(GrantRow.stored)
                FROM unnest($3::text[]) AS c (prefix)
                CROSS JOIN LATERAL (
                    SELECT \(GrantRow.stored) FROM grants r
                    WHERE r.principal = a.principal AND r.bucket = $2 AND r.prefix = c.prefix AND NOT r.is_template
                        AND r.removed_at IS NULL
                    OFFSET 0
                ) r
                LIMIT $6
            )
            UNION ALL
            (
                SELECT \(GrantRow.stored) FROM grants r
                WHERE r.principal = a.principal AND r.bucket = $2 AND r.prefix >= $4 AND r.prefix < $5
                    AND NOT r.is_template AND r.removed_at IS NULL
                ORDER BY r.prefix LIMIT $6
            )
        ) g ON true
        LIMIT \(PolicyCache.maxGrantsAround + 1)
        """, onlyReads: true
    ) {
        [
            $0.principals.map(\.rawValue), $0.bucket.rawValue, $0.above.map(\.rawValue), $0.from, $0.to, $0.limit,
        ]
    } decode: { row throws(PostgresError) in
        let position = PolicyPosition(sequence: try row.decode(0), tag: try row.decode(1))
        guard try row.decode(2, as: UUID?.self) != nil else { return (position, nil) }
        return (position, try GrantRow(row, from: 2).grant(2))
    }

    /// What the log says after a position; nothing where the position is not in it, or is too far back to go through.
    static let changes = Statement<ChangesQuestion, (position: PolicyPosition, scopes: [String]?)>(
        """
        SELECT h.seq, h.tag,
            CASE WHEN $1 >= h.seq - $3 AND EXISTS (SELECT FROM policy_log l WHERE l.seq = $1 AND l.tag = $2) THEN
                ARRAY(SELECT DISTINCT s.scope FROM policy_log l CROSS JOIN unnest(l.scopes) AS s (scope) WHERE l.seq > $1)
            END
        FROM \(latest) h
        """, onlyReads: true
    ) {
        [$0.position?.sequence, $0.position?.tag, $0.maxLines]
    } decode: { row throws(PostgresError) in
        (PolicyPosition(sequence: try row.decode(0), tag: try row.decode(1)), try row.decode(2))
    }
}

/// From where the log is read, and how many lines are too many.
struct ChangesQuestion: Sendable {
    var position: PolicyPosition?
    var maxLines: Int64
}

/// Around which prefix grants are read.
struct AroundQuestion: Sendable {
    let principals: [Principal]
    let bucket: BucketName
    /// Prefixes that cover it.
    let above: [ExactText]
    /// Where texts begin and end, in the order of bytes, that lie below it; none where it is a whole key.
    let from: String?
    let to: String
    /// Most rows of each kind and principal.
    let limit: Int64

    init(_ principals: [Principal], in bucket: BucketName, around prefix: ExactText, limit: Int64) {
        self.principals = principals
        self.bucket = bucket
        self.limit = limit
        let bytes = prefix.rawValue.utf8
        let isDirectory = bytes.isEmpty || bytes.last == UInt8(ascii: "/")
        var above: [ExactText] = []
        if !bytes.isEmpty { above.append(ExactText("")) }
        for index in bytes.indices.dropLast() where bytes[index] == UInt8(ascii: "/") {
            above.append(ExactText(String(Substring(bytes[...index]))))
        }
        if !isDirectory { above.append(prefix) }
        self.above = above
        from = isDirectory ? prefix.rawValue : nil
        // The byte after "/" is "0"; no text of 1,023 bytes comes after the last character, written that often. Without an end
        // the index would be read further than needed.
        to = bytes.isEmpty ? String(repeating: "\u{10FFFF}", count: 256) : String(Substring(bytes.dropLast())) + "0"
    }
}
