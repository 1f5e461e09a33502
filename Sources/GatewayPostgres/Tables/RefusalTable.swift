import FoundationEssentials
import GatewayCore
import Bytes
import LibPQ

/// The tables `refusals` and `refusal_gaps`.
enum RefusalTable {
    /// Refusals to add, and the number of dropped ones by minute.
    struct Batch: Sendable {
        var rows: [RefusalRecord] = []
        var dropped: [Date: Int64] = [:]

        var isEmpty: Bool { rows.isEmpty && dropped.isEmpty }
    }

    /// Adds refusals and counts dropped ones.
    static let record = Statement<Batch, Void>(
        """
        SELECT record_refusals(
            $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17
        )
        """
    ) { batch in
        let rows = batch.rows
        let gaps = batch.dropped.sorted { $0.key < $1.key }
        return [
            rows.map(\.requestID), rows.map(\.at), rows.map(\.method), rows.map(\.route),
            rows.map { Int32(clamping: $0.status) }, rows.map(\.note.code), rows.map(\.note.reason.rawValue),
            rows.map(\.note.subject), rows.map { $0.principal?.rawValue }, rows.map { $0.sourceAddress?.description },
            rows.map { $0.note.target?.bucket.rawValue }, rows.map { $0.note.target?.action?.rawValue },
            rows.map { $0.note.target?.keyPrefix }, rows.map { $0.note.target.map { Hex.encode($0.keySHA256) } },
            rows.map { $0.note.grantID?.lowercaseText }, gaps.map(\.key), gaps.map(\.value),
        ]
    }

    /// Deletes refusals that are too old or too many; returns how many rows.
    static let prune = Statement<(keepDays: Int32, keepRows: Int64, now: Date, most: Int32), Int32>(
        "SELECT prune_refusals($1, $2, $3, $4)"
    ) {
        [$0.keepDays, $0.keepRows, $0.now, $0.most]
    }

    /// Reads the refusals of a request, in their order.
    static let ofRequest = Statement<String, RefusalRecord?>(
        """
        SELECT r.request_id, r.refused_at, r.method, r.route, r.status::integer, r.code, r.reason, r.subject,
            r.principal, host(r.source_address), r.bucket, r.action, r.key_prefix, r.key_sha256, r.grant_id
        FROM refusals r WHERE r.request_id = $1 ORDER BY r.ordinal LIMIT 100
        """, onlyReads: true
    ) {
        [$0]
    } decode: { row throws(PostgresError) in
        try RefusalRecord(&row)
    }

    /// Reads since when refusals are kept, and how many were dropped within two minutes of an instant, or in all.
    static let extent = Statement<Date?, (keptSince: Date?, dropped: Int64)>(
        """
        SELECT (SELECT f.refused_at FROM refusals f ORDER BY f.ordinal LIMIT 1),
            (SELECT coalesce(sum(g.dropped), 0)::bigint FROM refusal_gaps g
             WHERE $1::timestamptz IS NULL
                OR g.minute BETWEEN $1 - interval '2 minutes' AND $1 + interval '2 minutes')
        """, onlyReads: true
    ) {
        [$0]
    } decode: { row throws(PostgresError) in
        (try row.next(), try row.next())
    }
}

extension RefusalRecord {
    /// Reads the columns of ``RefusalTable/ofRequest``; `nil` for a row of another version of the program.
    fileprivate init?(_ row: inout PostgresRow) throws(PostgresError) {
        let requestID = try row.next(as: String.self)
        let at = try row.next(as: Date.self)
        let method = try row.next(as: String.self)
        let route = try row.next(as: String.self)
        let status = try row.next(as: Int32.self)
        let code = try row.next(as: String.self)
        let reason = RefusalReason(rawValue: try row.next(as: String.self))
        let subject = try row.next(as: String?.self)
        let principal = try row.next(as: String?.self)
        let address = try row.next(as: String?.self)
        let bucket = try row.next(as: String?.self)
        let action = try row.next(as: String?.self)
        let keyPrefix = try row.next(as: String?.self)
        let keySHA256 = try row.next(as: [UInt8]?.self)
        let grantID = try row.next(as: UUID?.self)
        guard let reason else { return nil }
        var target: RefusalTarget?
        if let bucket, let keyPrefix, let keySHA256, let name = try? BucketName(bucket) {
            target = RefusalTarget(
                bucket: name, action: action.flatMap(Action.init), keyPrefix: keyPrefix, keySHA256: keySHA256)
        }
        self.init(
            requestID: requestID, at: at, method: method, route: route, status: Int(status),
            note: RefusalNote(code: code, reason, subject: subject, target: target, grantID: grantID),
            principal: principal.flatMap { try? Principal($0) }, sourceAddress: address.flatMap { IPAddress($0) })
    }
}
