import Foundation
import GatewayCore
import LibPQ

/// Statements about what became of uploads.
enum UploadStatements {
    struct PageRequest: Sendable {
        var query: UploadQuery
        var day: LedgerDay
        var before: UUID?
        var limit: Int
    }

    private static let columns = """
        u.id, u.issued_at, u.expires_at, u.delivery, u.action, u.method, u.principal, u.bucket, u.object_key, u.content_type,
        u.content_md5, u.content_length, u.is_dead, u.multipart_state = 'completed', u.multipart_etag, u.finding, u.mismatches,
        u.source, u.size, u.etag, u.found_type, u.found_at, u.made_at, u.event_size, u.event_etag, u.state
        """

    static let find = Statement<(id: UUID, from: Date, to: Date), ListedUpload>(
        "SELECT \(columns) FROM uploads u WHERE u.id = $1 AND u.issued_at >= $2 AND u.issued_at < $3", onlyReads: true
    ) {
        [$0.id, $0.from, $0.to]
    } decode: { row throws(PostgresError) in
        try ListedUpload(row)
    }

    /// What permits a single object; parts are left out, and so are the requests that start or complete one in parts otherwise.
    static let page = Statement<PageRequest, ListedUpload>(
        """
        SELECT \(columns) FROM uploads u
        WHERE u.issued_at >= $1 AND u.issued_at < $2 AND u.action = 'PutObject'
            AND (u.delivery IN ('presigned-url', 'post-policy', 'multipart-start')
                OR u.delivery = 'remote-signature' AND u.method = 'PUT')
            AND ($3::text IS NULL OR u.state = $3) AND ($4::text IS NULL OR u.bucket = $4)
            AND ($5::text IS NULL OR u.principal = $5) AND ($6::uuid IS NULL OR u.id < $6)
        ORDER BY u.id DESC LIMIT $7
        """, onlyReads: true
    ) {
        [
            $0.day.from, $0.day.to, $0.query.state?.rawValue, $0.query.bucket?.rawValue, $0.query.principal?.rawValue,
            $0.before, Int64($0.limit),
        ]
    } decode: { row throws(PostgresError) in
        try ListedUpload(row)
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
    } decode: { row throws(PostgresError) in
        try UploadFinding(row, from: 0)
    }

    static let noteSettled = Statement<(ids: [UUID], landed: [Int64?]), Void>("SELECT note_settled_uploads($1, $2)") {
        [$0.ids, $0.landed]
    }

    static let prune = Statement<(keepDays: Int32?, most: Int32), Int32>("SELECT prune_landings($1, $2)") {
        [$0.keepDays, $0.most]
    } decode: { row throws(PostgresError) in
        try row.decode(0)
    }
}

extension UploadFinding {
    /// Reads a row of `landings`, the columns of which begin at a place.
    init(_ row: borrowing PostgresRow, from first: Int) throws(PostgresError) {
        var mismatches: [Mismatch] = []
        for word in try row.decode(first + 1, as: [String].self) {
            guard let mismatch = Mismatch(rawValue: word) else {
                throw .decoding(column: first + 1, reason: "malformed Mismatch")
            }
            mismatches.append(mismatch)
        }
        self.init(
            kind: try row.word(first), mismatches: mismatches, source: try row.word(first + 2),
            size: try row.decode(first + 3), etag: try row.decode(first + 4), contentType: try row.decode(first + 5),
            foundAt: try row.decode(first + 6))
    }
}

extension ListedUpload {
    /// Reads a row of the view.
    init(_ row: borrowing PostgresRow) throws(PostgresError) {
        let kind = try row.decode(15, as: String?.self)
        let found = kind == nil ? nil : try UploadFinding(row, from: 15)
        let isCompleted = try row.decode(13, as: Bool?.self) ?? false
        let etag = try row.decode(14, as: String?.self)
        let madeAt = try row.decode(22, as: Date?.self)
        let digests = ContentDigests(try row.decode(10))
        let record = UploadRecord(
            id: try row.decode(0), issuedAt: try row.decode(1), expiresAt: try row.decode(2),
            delivery: try row.decode(3), action: try row.decode(4), method: try row.decode(5),
            principal: try row.decode(6), bucket: try row.decode(7), key: try row.decode(8),
            contentType: try row.decode(9), contentMD5: digests.md5, contentSHA256: digests.sha256,
            signsPayload: digests.signsPayload, contentLength: try row.decode(11), isDead: try row.decode(12),
            completedETag: etag, finding: found)
        // What was found goes before what was told, unless nothing was found.
        let finding: UploadFinding?
        if let found, found.kind != .absent {
            finding = found
        } else if isCompleted {
            finding = UploadFinding(kind: .landed, source: .completion, etag: etag)
        } else if let madeAt {
            finding = UploadFinding(
                kind: .landed, source: .event, size: try row.decode(23), etag: try row.decode(24), foundAt: madeAt)
        } else {
            finding = found
        }
        self.init(record: record, state: try row.word(25), finding: finding)
    }
}
