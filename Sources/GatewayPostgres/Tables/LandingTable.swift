import FoundationEssentials
import GatewayCore
import LibPQ

/// The table `landings`, which holds the outcomes of uploads, and the view `uploads`, which shows them beside their
/// ledger rows.
enum LandingTable {
    struct PageRequest: Sendable {
        var query: UploadQuery
        var from: PostgresTimestamp
        var to: PostgresTimestamp
        var before: UUID?
        var limit: Int
        /// The number of the newest rows that ``newest`` looks at.
        var newest: Int64 = 0
    }

    /// Columns of the view, in the order in which ``ListedUpload/init(_:)`` reads them.
    private static let columns = columns(isCompleted: "u.multipart_state = 'completed'")

    /// The same with the columns' own names and values.
    private static let stored = columns(isCompleted: "u.multipart_state")

    private static func columns(isCompleted: String) -> String {
        """
        u.content_md5, u.id, u.issued_at, u.expires_at, u.delivery, u.action, u.method, u.principal, u.bucket,
        u.object_key, u.content_type, u.content_length, u.is_dead, \(isCompleted), u.multipart_etag,
        u.is_uncompleted, u.finding, u.mismatches, u.source, u.size, u.etag, u.found_type, u.found_at, u.made_at, u.event_size, u.event_etag, u.state
        """
    }

    static let find = Statement<(id: UUID, from: Date, to: Date), ListedUpload>(
        "SELECT \(columns) FROM uploads u WHERE u.id = $1 AND u.issued_at >= $2 AND u.issued_at < $3", onlyReads: true
    ) {
        [$0.id, $0.from, $0.to]
    }

    /// Reads a page of issuances that permit one whole object. Walks from the newest row of a day on.
    static let page = page("SELECT \(columns) FROM uploads u WHERE \(isListed)")

    /// Reads what passes of the newest rows of a day. A frequent caller's page is among them.
    static let newest = page(
        """
        SELECT \(columns) FROM uploads u
        WHERE \(isListed) AND u.id >= coalesce(
            (
                SELECT i.id FROM issuances i
                WHERE i.issued_at >= $1 AND i.issued_at < $2 AND ($6::uuid IS NULL OR i.id < $6)
                ORDER BY i.id DESC OFFSET $10 LIMIT 1
            ),
            '00000000-0000-0000-0000-000000000000'
        )
        """, amongNewest: true)

    /// Reads a page of a caller's uploads of a day by the index of callers. PostgreSQL would expect rows soon, and walk
    /// all of the day where there are none. What became of an upload is looked up for the newest ones only, until the
    /// page is full.
    static let rare = page(
        """
        SELECT \(columns)
        FROM (
            SELECT i.id FROM issuances i
            WHERE i.issued_at >= $1 AND i.issued_at < $2 AND i.action = 'PutObject'
                AND ($4::text IS NULL OR i.bucket = $4)
                AND ($5::text IS NULL OR i.principal = $5) AND ($6::uuid IS NULL OR i.id < $6)
                AND ($9::text[] IS NULL OR i.principal = ANY ($9))
            ORDER BY i.id DESC
            OFFSET 0
        ) c
        CROSS JOIN LATERAL (SELECT \(stored) FROM uploads u WHERE u.id = c.id AND \(isListed) OFFSET 0) u
        """, inOrderOf: "c.id")

    /// Reads a page of a caller's uploads of a day of which only the gateway can have found something, by the index of
    /// its findings.
    static let found = page("SELECT \(columns) FROM (SELECT \(stored) FROM uploads u WHERE \(isListed) OFFSET 0) u")

    private static let isListed = """
        u.issued_at >= $1 AND u.issued_at < $2 AND u.is_upload
            AND ($3::text IS NULL OR u.state = $3)
            -- What only the gateway can find is found by the index of its findings.
            AND ($3::text IS NULL OR $3 NOT IN ('mismatched', 'unverified') OR u.finding = $3) AND ($4::text IS NULL OR u.bucket = $4)
            AND ($5::text IS NULL OR u.principal = $5) AND ($6::uuid IS NULL OR u.id < $6)
            AND \(ReachCondition.holds(
                "$8", bucket: "u.bucket", place: "u.object_key", principals: "u.principal", "u.matched_principal"))
            AND ($9::text[] IS NULL OR u.principal = ANY ($9))
        """

    private static func page(
        _ selection: String, inOrderOf id: String = "u.id", amongNewest: Bool = false
    ) -> Statement<PageRequest, ListedUpload> {
        Statement("\(selection)\nORDER BY \(id) DESC LIMIT $7", onlyReads: true) {
            let values: [any PostgresValue] = [
                $0.from, $0.to, $0.query.state?.rawValue, $0.query.bucket?.rawValue,
                $0.query.principal?.rawValue, $0.before, Int64($0.limit), $0.query.reach.parameter,
                $0.query.reach.onlyUsers,
            ]
            return amongNewest ? values + [$0.newest] : values
        }
    }

    static let note = Statement<(id: UUID, finding: UploadFinding), UploadFinding>(
        """
        SELECT l.finding, l.mismatches, l.source, l.size, l.etag, l.content_type, l.found_at
        FROM note_landing($1, $2, $3, $4, $5, $6, $7) l
        """
    ) {
        [
            $0.id, $0.finding.kind.rawValue, $0.finding.mismatches.map(\.rawValue), $0.finding.source.rawValue,
            $0.finding.size, $0.finding.etag, $0.finding.contentType,
        ]
    }

    static let noteSettled = Statement<(ids: [UUID], landed: [Int64?]), Void>("SELECT note_settled_uploads($1, $2)") {
        [$0.ids, $0.landed]
    }

    static let prune = Statement<(keepDays: Int32?, now: Date, most: Int32), Int32>(
        "SELECT prune_landings($1, $2, $3)"
    ) {
        [$0.keepDays, $0.now, $0.most]
    }
}

extension UploadFinding: RowReadable {
    /// Reads the seven columns of `landings` that `note_landing` returns.
    init(_ row: inout PostgresRow) throws(PostgresError) {
        self.init(
            kind: try row.nextWord(), mismatches: try row.nextWords(), source: try row.nextWord(),
            size: try row.next(), etag: try row.next(), contentType: try row.next(), foundAt: try row.next())
    }

    fileprivate static let columnCount = 7
}

extension UploadRecord {
    /// Reads the columns of the view up to `is_dead`.
    fileprivate init(_ row: inout PostgresRow) throws(PostgresError) {
        let digests = ContentDigests(try row.next())
        self.init(
            id: try row.next(), issuedAt: try row.next(), expiresAt: try row.next(), delivery: try row.next(),
            action: try row.next(), method: try row.next(), principal: try row.next(), bucket: try row.next(),
            key: try row.next(), contentType: try row.next(), contentMD5: digests.md5, contentSHA256: digests.sha256,
            signsPayload: digests.signsPayload, contentLength: try row.next(), isDead: try row.next())
    }
}

extension ListedUpload: RowReadable {
    /// Reads a row of the view.
    init(_ row: inout PostgresRow) throws(PostgresError) {
        var record = try UploadRecord(&row)
        let isCompleted = try row.next(as: Bool?.self)
        record.hasForgottenEnd = record.delivery == Delivery.multipartStart.rawValue && isCompleted == nil
        record.completedETag = try row.next()
        record.isUncompleted = try row.next()
        let noted = try row.nextJoined(UploadFinding.columnCount) { row throws(PostgresError) in
            try UploadFinding(&row)
        }
        let madeAt: Date? = try row.next()
        let eventSize: Int64? = try row.next()
        let eventETag: String? = try row.next()
        // A finding takes precedence over what the store reported, unless the finding is that the object is absent.
        let finding: UploadFinding?
        if let noted, noted.kind != .absent {
            finding = noted
        } else if isCompleted == true {
            finding = UploadFinding(kind: .landed, source: .completion, etag: record.completedETag)
        } else if let madeAt {
            finding = UploadFinding(
                kind: .landed, source: .event, size: eventSize, etag: eventETag, foundAt: madeAt)
        } else {
            finding = noted
        }
        self.init(record: record, state: try row.nextWord(), finding: finding)
    }
}
