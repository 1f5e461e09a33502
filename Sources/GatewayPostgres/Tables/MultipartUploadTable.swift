import FoundationEssentials
import GatewayCore
import LibPQ

/// The tables `multipart_uploads` and `multipart_parts`.
enum MultipartUploadTable {
    /// The columns, in the order in which ``MultipartUpload/init(_:)`` reads them.
    private static let columns = Columns<MultipartUpload>(
        Column("id", as: "id") { $0.id },
        Column("principal", as: "principal") { $0.principal.rawValue },
        Column("bucket", as: "bucket") { $0.bucket.rawValue },
        Column("object_key", as: "key") { $0.key.rawValue },
        Column("content_type") { $0.contentType.text },
        Column("content_length") { $0.contentLength },
        Column("state", as: "state") { $0.state.rawValue },
        Column("store_upload_id"),
        Column("part_numbers"),
        Column("part_etags"),
        Column("etag"),
        Column("created_at", as: "createdAt"),
        Column("expires_at", as: "expiresAt") { $0.expiresAt })

    /// Inserts an upload. Its first check comes after five minutes, in case the answer to the start is lost. Later
    /// checks come when the upload expires.
    static let insert: Statement<MultipartUpload, Date> = {
        let written = columns.inserted
        let expiry = written.parameter(of: "expires_at")
        return Statement(
            """
            INSERT INTO multipart_uploads (\(written.names), check_at)
            VALUES (\(written.values), least(\(expiry), clock_timestamp() + interval '5 minutes'))
            RETURNING created_at
            """
        ) {
            written.parameters(of: $0)
        }
    }()

    static let find = Statement<[UUID], MultipartUpload>(
        """
        SELECT \(columns.selected(of: "u")) FROM multipart_uploads u WHERE u.id = ANY ($1)
        """, onlyReads: true
    ) {
        [$0]
    }

    static let open = Statement<(id: UUID, storeUploadID: String), MultipartUpload.State>(
        """
        UPDATE multipart_uploads
        SET store_upload_id = $2,
            state = CASE state WHEN 'starting' THEN 'open' ELSE 'aborting' END,
            check_at = CASE state WHEN 'starting' THEN expires_at ELSE clock_timestamp() END
        WHERE id = $1 AND store_upload_id IS NULL
        RETURNING state
        """
    ) {
        [$0.id, $0.storeUploadID]
    } decode: { row throws(PostgresError) in
        try row.nextWord()
    }

    /// Changes the state of an upload. While an attempt to complete it is under way, the parts stay those of that
    /// attempt, because the store may have received it, and the refusal of an attempt with other parts changes nothing.
    /// Once the store has refused the parts of an attempt, they are in no object.
    static let move = Statement<(id: UUID, from: Set<MultipartUpload.State>, to: MultipartChange), UUID>(moving) {
        Self.parameters($0.id, $0.from, $0.to)
    }

    /// Changes the state of an upload from one that is known, and adds an audit row for it. The row has the state
    /// before, because a statement sees rows as they were at its start. The credential is proved once the upload is
    /// locked: changes of policy that lock uploads lock the log last.
    static let abort = Statement<
        (id: UUID, from: MultipartUpload.State, to: MultipartChange, entry: UUID, admin: ChangeContext), UUID
    >(
        """
        WITH moved AS (
        \(moving)
        ), audited AS (
            INSERT INTO admin_audit (id, actor, request_id, credential, operation, kind, resource_id, before)
            SELECT $9, $10, $11, $12, '\(AuditOperation.delete.rawValue)', '\(ResourceKind.multipartUpload.rawValue)',
                r.id::text, jsonb_build_object(\(columns.document))
            FROM (SELECT m.id, prove_actor($13::text::jsonb) AS is_proved FROM moved m OFFSET 0) p
            JOIN multipart_uploads r ON r.id = p.id AND p.is_proved
        )
        SELECT m.id FROM moved m
        """
    ) {
        let audited: [any PostgresValue] = [
            $0.entry, $0.admin.actor.rawValue, $0.admin.requestID, $0.admin.credential?.rawValue,
            $0.admin.proof?.json,
        ]
        return Self.parameters($0.id, [$0.from], $0.to) + audited
    }

    private static let moving = """
        UPDATE multipart_uploads
        SET state = $3,
            part_numbers = CASE $3 WHEN 'open' THEN '{}' ELSE coalesce($4, part_numbers) END,
            part_etags = CASE $3 WHEN 'open' THEN '{}' ELSE coalesce($5, part_etags) END,
            etag = coalesce($6, etag), may_be_complete = coalesce($7, may_be_complete),
            check_at = CASE $3 WHEN 'aborting' THEN clock_timestamp() + interval '5 minutes' ELSE check_at END
        WHERE id = $1 AND state = ANY ($2)
            AND (state <> 'completing' OR $3 NOT IN ('completing', 'open') OR part_numbers = $4 AND part_etags = $5)
            AND ($3 <> 'aborted' OR store_upload_id IS NOT DISTINCT FROM $8)
        RETURNING id
        """

    private static func parameters(
        _ id: UUID, _ from: Set<MultipartUpload.State>, _ change: MultipartChange
    ) -> [any PostgresValue] {
        var state = MultipartUpload.State.open
        var parts: [UploadedPart]?
        var etag: String?
        var mayBeComplete: Bool?
        var storeUploadID: String?
        switch change {
        case .refused(let listed): parts = listed
        case .completing(let listed): (state, parts) = (.completing, listed)
        case .completed(let listed, let tag, let isCertain):
            (state, parts, etag, mayBeComplete) = (.completed, listed, tag, !isCertain)
        case .aborting: state = .aborting
        case .aborted(let stored, let isUnknown): (state, storeUploadID, mayBeComplete) = (.aborted, stored, isUnknown)
        }
        return [
            id, from.map(\.rawValue), state.rawValue, parts?.map { Int32($0.number) },
            parts?.map(\.etag), etag, mayBeComplete, storeUploadID,
        ]
    }

    /// Reserves the parts of requests. The place of an answer is that of its request, counted from 1. The answer is
    /// `nil` for an upload that somebody else has locked, unless the statement waits for it.
    static let reserve = Statement<(requests: [PartRequest], waits: Bool), (place: Int32, answer: PartReservation?)>(
        """
        SELECT r.place, r.verdict, r.object_length, r.max_length
        FROM reserve_multipart_parts($1, $2, $3, $4, $5, $6) r
        """
    ) { requests, waits in
        let parts = requests.flatMap(\.parts)
        return [
            requests.map(\.upload), requests.map { Int32($0.parts.count) }, parts.map(\.issuance),
            parts.map { Int32($0.number) }, parts.map(\.contentLength), waits,
        ]
    } decode: { row throws(PostgresError) in
        (try row.next(), try Self.reservation(&row))
    }

    private static func reservation(_ row: inout PostgresRow) throws(PostgresError) -> PartReservation? {
        let verdict: String = try row.next()
        switch verdict {
        case "reserved": return .reserved(objectLength: try row.next())
        case "too-large":
            row.skip(1)
            return .tooLarge(maxBytes: try row.next())
        case "length-required": return .lengthRequired
        case "locked": return nil
        default: return .closed
        }
    }

    static let release = Statement<[UUID], Void>("SELECT release_multipart_parts($1)") { [$0] }

    /// Forgets parts that were reserved and never issued, of ten minutes at most. The answer is up to when it has
    /// looked, which is where the next call begins, and whether there is more to look at.
    static let forgetUnissued = Statement<(from: Date?, now: Date), (end: Date, hasMore: Bool)>(
        "SELECT f.looked_to, f.has_more FROM forget_unissued_parts($1, $2) f"
    ) {
        [$0.from, $0.now]
    } decode: { row throws(PostgresError) in
        (try row.next(), try row.next())
    }

    static let listing = PagedList(
        of: .multipartUpload,
        filters: [
            .text("state", is: "u.state"), .text("bucket", is: "u.bucket"), .text("principal", is: "u.principal"),
        ],
        order: [.uuid("u.id")], isDescending: true)

    /// Reads a page of uploads, newest first.
    static let page: Statement<PageRequest, MultipartUpload> = AdminStatements.page(
        of: listing, columns.selected(of: "u"), from: "multipart_uploads u")

    /// Takes uploads that are due, but none of some buckets, and reserves them until the end of the lease, so that no
    /// other gateway handles them at the same time.
    static let takeDue = Statement<(most: Int32, now: Date, lease: Double, buckets: Set<String>), MultipartUpload>(
        """
        UPDATE multipart_uploads u
        SET check_at = clock_timestamp() + make_interval(secs => $3)
        WHERE u.id = ANY (ARRAY(
            SELECT d.id FROM multipart_uploads d
            WHERE d.state IN ('starting', 'open', 'completing', 'aborting')
                AND d.check_at < (SELECT least(clock_timestamp(), $2)) AND d.bucket <> ALL ($4)
            ORDER BY d.check_at
            LIMIT $1
            FOR UPDATE SKIP LOCKED
        ))
        RETURNING \(columns.selected(of: "u"))
        """
    ) {
        [$0.most, $0.now, $0.lease, Array($0.buckets)]
    }

    /// Gives up those of some uploads that have not ended and expired long enough ago. One that somebody has locked is
    /// left for the next time. The store may still have their parts, or have made an object of them. The answer is how
    /// many there were.
    static let giveUp = Statement<(uploads: [UUID], now: Date, patience: Double), Int32>(
        """
        WITH given_up AS (
            UPDATE multipart_uploads u
            SET state = 'aborted', may_be_complete = true
            WHERE u.id = ANY (ARRAY(
                SELECT d.id FROM multipart_uploads d
                WHERE d.id = ANY ($1) AND d.state IN ('starting', 'open', 'completing', 'aborting')
                    AND d.expires_at < (SELECT least(clock_timestamp(), $2)) - make_interval(secs => $3)
                ORDER BY d.id
                FOR UPDATE SKIP LOCKED
            ))
            RETURNING 1
        )
        SELECT count(*)::integer FROM given_up
        """
    ) {
        [$0.uploads, $0.now, $0.patience]
    }

    static let prune = Statement<(keepDays: Int32, now: Date, most: Int32), Int32>(
        "SELECT prune_multipart_uploads($1, $2, $3)"
    ) {
        [$0.keepDays, $0.now, $0.most]
    }
}

/// Parts of one upload that are reserved together or not at all.
struct PartRequest: Hashable {
    let upload: UUID
    let parts: [ReservedPart]
}

extension MultipartUpload: RowReadable {
    /// Reads the columns of ``MultipartUploadTable``.
    init(_ row: inout PostgresRow) throws(PostgresError) {
        self.init(
            id: try row.next(), principal: try row.nextParsed(Principal.init(_:)),
            bucket: try row.nextParsed(BucketName.init(_:)), key: try row.nextParsed(ObjectKey.init(_:)),
            contentType: try row.nextMediaType(), contentLength: try row.next(), state: try row.nextWord(),
            storeUploadID: try row.next(), parts: try row.nextParts(), etag: try row.next(),
            createdAt: try row.next(), expiresAt: try row.next())
    }
}

extension PostgresRow {
    fileprivate mutating func nextMediaType() throws(PostgresError) -> MediaType {
        let column = place
        guard let type = MediaType(try next()) else {
            throw .decoding(column: column, reason: "malformed content type")
        }
        return type
    }

    /// Reads two columns: the numbers of parts and their entity tags.
    fileprivate mutating func nextParts() throws(PostgresError) -> [UploadedPart] {
        let column = place
        let numbers: [Int32] = try next()
        let etags: [String] = try next()
        var parts: [UploadedPart] = []
        for (number, etag) in zip(numbers, etags) {
            parts.append(
                try Self.parse(etag, of: column) { (etag) throws(GatewayError) in
                    try UploadedPart(number: Int(number), etag: etag)
                })
        }
        return parts
    }
}
