import FoundationEssentials
import GatewayCore
import LibPQ

/// The keys that one call loads, as parallel columns. The n-th keys of all columns share a row of the answer.
struct PolicyQuestion: Sendable {
    var principals: [Principal] = []
    var buckets: [BucketName] = []
    var credentials: [UUID] = []
    var issuers: [String] = []
    var apiKeys: [String] = []
    var tickets: [String] = []
    var literalGrantLimit: Int64
}

/// One row of the answer to a ``PolicyQuestion``. Its parts have nothing to do with one another: each can be read, or
/// cannot, by itself.
struct LoadedRow: Sendable {
    var position: PolicyPosition
    var principal: Result<PrincipalRows, PostgresError>
    var bucket: Result<Bucket?, PostgresError>
    var credential: Result<SealedStorageCredential?, PostgresError>
    var issuer: Result<Stored<SealedIssuer>?, PostgresError>
    var apiKey: Result<APIKey?, PostgresError>
    var ticket: Result<SealedTicket?, PostgresError>
}

/// One row of the answer to a question about a list of places or principals: a literal grant of one of them.
struct LiteralGrantRow: RowReadable {
    let position: PolicyPosition
    /// Which of the list it is, counted from 1; 0 for an empty list.
    let place: Int
    /// The grant; `nil` if there is none.
    let grant: Result<Grant?, PostgresError>

    /// Reads the end of the log, the place and the columns of ``GrantTable``.
    init(_ row: inout PostgresRow) throws(PostgresError) {
        position = PolicyPosition(sequence: try row.next(), tag: try row.next())
        place = Int(try row.next(as: Int64?.self) ?? 0)
        grant = row.nextPart(GrantTable.columns.count) { row throws(PostgresError) in
            try row.nextJoined(GrantTable.columns.count) { row throws(PostgresError) in try Grant(&row) }
        }
    }
}

/// Statements that read policy.
enum PolicyStatements {
    /// The end of the policy log. It has no row if this program does not fit the schema, so that no decision is made.
    private static let latest = """
        (
            SELECT seq, tag FROM policy_log
            WHERE \(SchemaState.carried.condition)
            ORDER BY seq DESC LIMIT 1
        )
        """

    /// Loads the rows for the n-th key of each kind.
    ///
    /// Literal grants are counted first, up to one more than the limit, and read only if they are within the limit.
    /// Each `LATERAL` with an aggregate is a loop over an index. No part of the statement can become a scan of all
    /// grants.
    static let load = Statement<PolicyQuestion, LoadedRow>(
        """
        SELECT l.seq, l.tag, a.principal,
            ARRAY(SELECT m.group_principal FROM group_members m WHERE m.member_principal = a.principal),
            n.literals <= $7,
            \(GrantTable.columnsOfPrincipal.stored(of: "g")),
            \(QuotaTable.columnsOfPrincipal.stored(of: "q")),
            \(BucketTable.columns.selected(of: "b")),
            \(StorageCredentialTable.columns.selected(of: "c")),
            \(IssuerTable.columns.selected(of: "i")), i.revision,
            \(APIKeyTable.columns.selected(of: "k")),
            \(TicketTable.columns.selected(of: "t"))
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
            SELECT \(GrantTable.columnsOfPrincipal.gathered(of: "r"))
            FROM (
                SELECT \(GrantTable.columns.stored(of: "r")) FROM grants r
                WHERE r.principal = a.principal AND r.removed_at IS NULL AND r.is_template
                UNION ALL
                (
                    SELECT \(GrantTable.columns.stored(of: "r")) FROM grants r
                    WHERE r.principal = a.principal AND r.removed_at IS NULL AND NOT r.is_template
                        AND n.literals <= $7
                    ORDER BY r.bucket, r.prefix LIMIT $7
                )
            ) r
        ) g ON true
        LEFT JOIN LATERAL (
            SELECT \(QuotaTable.columnsOfPrincipal.gathered(of: "r"))
            FROM quotas r WHERE r.principal = a.principal
        ) q ON true
        LEFT JOIN buckets b ON b.name = a.bucket
        LEFT JOIN storage_credentials c ON c.id = a.credential
        LEFT JOIN issuers i ON i.issuer = a.issuer
        LEFT JOIN LATERAL (
            \(APIKeyTable.named("a.api_key"))
        ) k ON true
        LEFT JOIN tickets t ON t.name = a.ticket
        ORDER BY a.place
        """, onlyReads: true
    ) {
        [
            $0.principals.map(\.rawValue), $0.buckets.map(\.rawValue), $0.credentials, $0.issuers, $0.apiKeys,
            $0.tickets, $0.literalGrantLimit,
        ]
    }

    /// Reads the literal grants at exact places. The fence makes each place a lookup of its own, by all three columns.
    static let grantsAtPlaces = Statement<[GrantPlace], LiteralGrantRow>(
        """
        SELECT l.seq, l.tag, a.place, \(GrantTable.columns.selected(of: "g"))
        FROM \(latest) l
        LEFT JOIN unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS a (principal, bucket, prefix, place) ON true
        LEFT JOIN LATERAL (
            SELECT \(GrantTable.columns.stored(of: "r")) FROM grants r
            WHERE r.principal = a.principal AND r.bucket = a.bucket AND r.prefix = a.prefix AND NOT r.is_template
                AND r.removed_at IS NULL
            OFFSET 0
        ) g ON true
        """, onlyReads: true
    ) { places in
        [places.map(\.principal.rawValue), places.map(\.bucket.rawValue), places.map(\.prefix.rawValue)]
    }

    /// Selects the literal grants of the principal `a` in a bucket that cover a prefix or lie below it. The number of
    /// each kind is limited. Without a bucket there are none.
    private static let around = """
        (
            SELECT \(GrantTable.columns.stored(of: "r"))
            FROM unnest($3::text[]) AS c (prefix)
            CROSS JOIN LATERAL (
                SELECT \(GrantTable.columns.stored(of: "r")) FROM grants r
                WHERE r.principal = a.principal AND r.bucket = $2 AND r.prefix = c.prefix AND NOT r.is_template
                    AND r.removed_at IS NULL
                OFFSET 0
            ) r
            LIMIT $6
        )
        UNION ALL
        (
            SELECT \(GrantTable.columns.stored(of: "r")) FROM grants r
            WHERE r.principal = a.principal AND r.bucket = $2 AND r.prefix >= $4 AND r.prefix < $5
                AND NOT r.is_template AND r.removed_at IS NULL
            ORDER BY r.prefix LIMIT $6
        )
        """

    /// Reads literal grants of principals in a bucket that cover a prefix or lie below it. The number per kind and
    /// principal is limited.
    static let grantsAround = literalGrants(around, "LIMIT \(PolicyCache.maxGrantsAround + 1)")

    /// Reads the first literal grants of principals, in all buckets or around a prefix of one. Of each principal and
    /// kind, no more rows are read than the answer may have.
    static let firstGrants = literalGrants(
        """
        \(around)
        UNION ALL
        (
            SELECT \(GrantTable.columns.stored(of: "r")) FROM grants r
            WHERE $2::text IS NULL AND r.principal = a.principal AND NOT r.is_template AND r.removed_at IS NULL
            ORDER BY r.bucket, r.prefix LIMIT $6
        )
        """, "ORDER BY g.bucket, g.prefix, g.id LIMIT $6")

    /// Makes a statement that reads grants of several principals, and where the policy log ends.
    ///
    /// - Parameters:
    ///   - selection: Selects the grants of the principal `a`.
    ///   - end: The order of all the grants `g`, and how many are read.
    private static func literalGrants(
        _ selection: String, _ end: String
    ) -> Statement<AroundQuestion, LiteralGrantRow> {
        Statement(
            """
            SELECT l.seq, l.tag, a.place, \(GrantTable.columns.selected(of: "g"))
            FROM \(latest) l
            LEFT JOIN unnest($1::text[]) WITH ORDINALITY AS a (principal, place) ON true
            LEFT JOIN LATERAL (
                \(selection)
            ) g ON true
            \(end)
            """, onlyReads: true
        ) {
            $0.parameters
        }
    }

    /// Reads the scopes that changed after a position. They are NULL if the log does not hold the position, or if it is
    /// too far back.
    ///
    /// The database went back in time if its log is shorter, or has another tag at the position.
    static let changes = Statement<ChangesQuestion, (position: PolicyPosition, wentBack: Bool?, scopes: [String]?)>(
        """
        SELECT h.seq, h.tag,
            h.seq < $1 OR EXISTS (SELECT FROM policy_log l WHERE l.seq = $1 AND l.tag <> $2),
            CASE WHEN $1 >= h.seq - $3 AND EXISTS (SELECT FROM policy_log l WHERE l.seq = $1 AND l.tag = $2) THEN
                ARRAY(SELECT DISTINCT s.scope FROM policy_log l CROSS JOIN unnest(l.scopes) AS s (scope) WHERE l.seq > $1)
            END
        FROM \(latest) h
        """, onlyReads: true
    ) {
        [$0.position?.sequence, $0.position?.tag, $0.maxLines]
    } decode: { row throws(PostgresError) in
        (PolicyPosition(sequence: try row.next(), tag: try row.next()), try row.next(), try row.next())
    }
}

/// The position to read the log from, and the maximum number of lines to read.
struct ChangesQuestion: Sendable {
    var position: PolicyPosition?
    var maxLines: Int64
}

/// The prefix around which grants are read.
struct AroundQuestion: Sendable {
    let principals: [Principal]
    /// The bucket; `nil` for all, where the prefix is empty.
    let bucket: BucketName?
    /// Prefixes that cover the prefix.
    let above: [ExactText]
    /// Where the texts below the prefix begin and end, in the order of bytes. `from` is `nil` if the prefix is a whole
    /// key.
    let from: String?
    let to: String
    /// Maximum number of rows for each kind and principal.
    let limit: Int64

    init(_ principals: [Principal], in bucket: BucketName?, around prefix: ExactText, limit: Int64) {
        self.principals = principals
        self.bucket = bucket
        self.limit = limit
        let bytes = prefix.rawValue.utf8
        let isDirectory = bytes.isEmpty || bytes.last == UInt8(ascii: "/")
        above = prefix.candidatePrefixes.filter { !isDirectory || $0 != prefix }
        from = isDirectory ? prefix.rawValue : nil
        // The byte after "/" is "0". For the empty prefix, no text of 1,023 bytes sorts after 256 times the last
        // character. Without an end, the index would be read further than needed.
        to = bytes.isEmpty ? String(repeating: "\u{10FFFF}", count: 256) : String(Substring(bytes.dropLast())) + "0"
    }

    /// The values of the parameters, in order.
    fileprivate var parameters: [any PostgresValue] {
        [principals.map(\.rawValue), bucket?.rawValue, above.map(\.rawValue), from, to, limit]
    }
}
