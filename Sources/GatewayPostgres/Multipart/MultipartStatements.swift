import Foundation
import GatewayCore
import LibPQ

/// Statements about uploads in parts.
enum MultipartStatements {
    private static let columns = """
        u.id, u.principal, u.bucket, u.object_key, u.content_type, u.content_length, u.state, u.store_upload_id,
        u.part_numbers, u.part_etags, u.etag, u.created_at, u.expires_at
        """

    /// A start whose answer is lost is looked for soon; everything else when it expires.
    static let insert = Statement<MultipartUpload, Date>(
        """
        INSERT INTO multipart_uploads (id, principal, bucket, object_key, content_type, content_length, state, expires_at,
            check_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, least($8, clock_timestamp() + interval '5 minutes'))
        RETURNING created_at
        """
    ) {
        [
            $0.id, $0.principal.rawValue, $0.bucket.rawValue, $0.key.rawValue, $0.contentType.text, $0.contentLength,
            $0.state.rawValue, $0.expiresAt,
        ]
    } decode: { row throws(PostgresError) in
        try row.decode(0)
    }

    static let find = Statement<UUID, MultipartUpload>(
        "SELECT \(columns) FROM multipart_uploads u WHERE u.id = $1", onlyReads: true
    ) {
        [$0]
    } decode: { row throws(PostgresError) in
        try MultipartUpload(row)
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
        try row.word(0)
    }

    /// While an attempt to complete is under way, the parts stay those of that attempt: the store may have heard it.
    static let move = Statement<(id: UUID, from: Set<MultipartUpload.State>, to: MultipartChange), UUID>(
        """
        UPDATE multipart_uploads
        SET state = $3, part_numbers = coalesce($4, part_numbers), part_etags = coalesce($5, part_etags),
            etag = coalesce($6, etag),
            check_at = CASE $3 WHEN 'aborting' THEN clock_timestamp() + interval '5 minutes' ELSE check_at END
        WHERE id = $1 AND state = ANY ($2)
            AND (state <> 'completing' OR $3 <> 'completing' OR part_numbers = $4 AND part_etags = $5)
        RETURNING id
        """
    ) { arguments in
        var state = MultipartUpload.State.open
        var parts: [UploadedPart]?
        var etag: String?
        switch arguments.to {
        case .open: break
        case .completing(let listed): (state, parts) = (.completing, listed)
        case .completed(let tag): (state, etag) = (.completed, tag)
        case .aborting: state = .aborting
        case .aborted: state = .aborted
        }
        return [
            arguments.id, arguments.from.map(\.rawValue), state.rawValue, parts?.map { Int32($0.number) },
            parts?.map(\.etag), etag,
        ]
    } decode: { row throws(PostgresError) in
        try row.decode(0)
    }

    static let reserve = Statement<(id: UUID, parts: [ReservedPart]), PartReservation>(
        "SELECT r.verdict, r.object_length, r.max_length FROM reserve_multipart_parts($1, $2, $3, $4) r"
    ) { arguments in
        [
            arguments.id, arguments.parts.map(\.issuance), arguments.parts.map { Int32($0.number) },
            arguments.parts.map(\.contentLength),
        ]
    } decode: { row throws(PostgresError) in
        let verdict: String = try row.decode(0)
        switch verdict {
        case "reserved": return .reserved(objectLength: try row.decode(1))
        case "too-large": return .tooLarge(maxBytes: try row.decode(2))
        case "length-required": return .lengthRequired
        default: return .closed
        }
    }

    static let release = Statement<[UUID], UUID>(
        "DELETE FROM multipart_parts WHERE issuance_id = ANY ($1) RETURNING issuance_id"
    ) {
        [$0]
    } decode: { row throws(PostgresError) in
        try row.decode(0)
    }

    static let storeUploadIDs = Statement<MultipartUpload, String>(
        """
        SELECT u.store_upload_id FROM multipart_uploads u
        WHERE u.bucket = $1 AND u.object_key = $2 AND u.id <> $3 AND u.store_upload_id IS NOT NULL
        """, onlyReads: true
    ) {
        [$0.bucket.rawValue, $0.key.rawValue, $0.id]
    } decode: { row throws(PostgresError) in
        try row.decode(0)
    }

    static let audit = Statement<(entry: UUID, id: UUID, change: ChangeContext), UUID>(
        """
        INSERT INTO admin_audit (id, actor, request_id, operation, kind, resource_id, before)
        SELECT $1, $3, $4, 'delete', 'multipart-upload', u.id::text,
            jsonb_build_object('id', u.id, 'principal', u.principal, 'bucket', u.bucket, 'key', u.object_key,
                'state', u.state, 'createdAt', u.created_at)
        FROM multipart_uploads u WHERE u.id = $2
        RETURNING id
        """
    ) {
        [$0.entry, $0.id, $0.change.actor.rawValue, $0.change.requestID]
    } decode: { row throws(PostgresError) in
        try row.decode(0)
    }

    static let page = Statement<(filters: [String: String], after: UUID?, limit: Int64), MultipartUpload>(
        """
        SELECT \(columns) FROM multipart_uploads u
        WHERE ($1::text IS NULL OR u.state = $1) AND ($2::text IS NULL OR u.bucket = $2)
            AND ($3::text IS NULL OR u.principal = $3) AND ($4::uuid IS NULL OR u.id > $4)
        ORDER BY u.id
        LIMIT $5
        """, onlyReads: true
    ) {
        [$0.filters["state"], $0.filters["bucket"], $0.filters["principal"], $0.after, $0.limit]
    } decode: { row throws(PostgresError) in
        try MultipartUpload(row)
    }

    /// Takes uploads on for some minutes, so that no other gateway looks after them at the same time.
    static let takeDue = Statement<(most: Int32, now: Date), MultipartUpload>(
        """
        UPDATE multipart_uploads u
        SET check_at = clock_timestamp() + interval '5 minutes'
        WHERE u.id = ANY (ARRAY(
            SELECT d.id FROM multipart_uploads d
            WHERE d.state IN ('starting', 'open', 'completing', 'aborting') AND d.check_at < least(clock_timestamp(), $2)
            ORDER BY d.check_at
            LIMIT $1
            FOR UPDATE SKIP LOCKED
        ))
        RETURNING \(columns)
        """
    ) {
        [$0.most, $0.now]
    } decode: { row throws(PostgresError) in
        try MultipartUpload(row)
    }

    static let prune = Statement<(keepDays: Int32, most: Int32), Int32>("SELECT prune_multipart_uploads($1, $2)") {
        [$0.keepDays, $0.most]
    } decode: { row throws(PostgresError) in
        try row.decode(0)
    }
}

extension MultipartUpload {
    /// Reads a row of the columns above.
    fileprivate init(_ row: borrowing PostgresRow) throws(PostgresError) {
        let bucket: String = try row.decode(2)
        let key: String = try row.decode(3)
        guard let contentType = MediaType(try row.decode(4)) else {
            throw .decoding(column: 4, reason: "malformed content type")
        }
        var parts: [UploadedPart] = []
        for (number, etag) in zip(try row.decode(8, as: [Int32].self), try row.decode(9, as: [String].self)) {
            parts.append(
                try parsed(8) { () throws(GatewayError) in try UploadedPart(number: Int(number), etag: etag) })
        }
        self.init(
            id: try row.decode(0), principal: try row.principal(1),
            bucket: try parsed(2) { () throws(GatewayError) in try BucketName(bucket) },
            key: try parsed(3) { () throws(GatewayError) in try ObjectKey(key) }, contentType: contentType,
            contentLength: try row.decode(5), state: try row.word(6), storeUploadID: try row.decode(7), parts: parts,
            etag: try row.decode(10), createdAt: try row.decode(11), expiresAt: try row.decode(12))
    }
}
