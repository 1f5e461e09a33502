import FoundationEssentials
import GatewayCore
import LibPQ

/// Parameters of a page of refusals.
struct DenialRequest: Sendable {
    var query: DenialQuery
    var from: PostgresTimestamp
    var to: PostgresTimestamp
    /// The last row of the previous page: its start, then principal, bucket and code. A dimension that is not counted
    /// separately is empty.
    var before: (minute: PostgresTimestamp, names: [String])?
    var limit: Int

    /// Whether the table's rows are what is asked for, so that nothing needs to be added up.
    var isDetailed: Bool { query.step == .minute && query.dimensions.count == DenialQuery.Dimension.allCases.count }
}

extension DenialRequest {
    /// Reads refusals as they are counted: by minute and all dimensions.
    static let detailed = Statement<DenialRequest, CountedDenial>(
        """
        SELECT d.minute, d.principal, nullif(d.bucket, ''), d.code, d.count FROM denials d
        WHERE d.minute >= $1 AND d.minute < $2 AND ($3::text IS NULL OR d.principal = $3)
            AND ($4::text IS NULL OR d.bucket = $4) AND ($5::text IS NULL OR d.code = $5)
            AND ($6::timestamptz IS NULL OR d.minute <= $6)
            AND ($6::timestamptz IS NULL OR (d.minute, d.principal, d.bucket, d.code) < ($6, $7::text, $8::text, $9::text))
            AND \(ReachCondition.holds("$11", bucket: "d.bucket", place: "''", principals: "d.principal"))
        ORDER BY d.minute DESC, d.principal DESC, d.bucket DESC, d.code DESC LIMIT $10
        """, onlyReads: true
    ) { request in
        let names = request.before?.names
        return [
            request.from, request.to, request.query.principal?.rawValue, request.query.bucket?.rawValue,
            request.query.code, request.before?.minute, names?[0], names?[1], names?[2], Int64(request.limit),
            request.query.reach.parameter,
        ]
    }

    /// Adds up refusals by time and by some of the dimensions.
    static let summed = Statement<DenialRequest, CountedDenial>(
        """
        SELECT s.start, s.principal, nullif(s.bucket, ''), s.code, sum(s.count)::bigint
        FROM (
            SELECT date_trunc($11, d.minute, 'UTC') AS start, CASE WHEN $12 THEN d.principal END AS principal,
                CASE WHEN $13 THEN d.bucket END AS bucket, CASE WHEN $14 THEN d.code END AS code, d.count
            FROM denials d
            WHERE d.minute >= $1 AND d.minute < $2 AND ($3::text IS NULL OR d.principal = $3)
                AND ($4::text IS NULL OR d.bucket = $4) AND ($5::text IS NULL OR d.code = $5)
                AND \(ReachCondition.holds("$15", bucket: "d.bucket", place: "''", principals: "d.principal"))
        ) s
        WHERE $6::timestamptz IS NULL OR (s.start, coalesce(s.principal, ''), coalesce(s.bucket, ''), coalesce(s.code, ''))
            < ($6, $7::text, $8::text, $9::text)
        GROUP BY s.start, s.principal, s.bucket, s.code
        ORDER BY s.start DESC, coalesce(s.principal, '') DESC, coalesce(s.bucket, '') DESC, coalesce(s.code, '') DESC
        LIMIT $10
        """, onlyReads: true
    ) { request in
        let names = request.before?.names
        let dimensions = request.query.dimensions
        return [
            request.from, request.to, request.query.principal?.rawValue, request.query.bucket?.rawValue,
            request.query.code, request.before?.minute, names?[0], names?[1], names?[2], Int64(request.limit),
            request.query.step.rawValue, dimensions.contains(.principal), dimensions.contains(.bucket),
            dimensions.contains(.code), request.query.reach.parameter,
        ]
    }
}

extension CountedDenial: RowReadable {
    /// Reads start, principal, bucket, code and count.
    init(_ row: inout PostgresRow) throws(PostgresError) {
        self.init(
            start: try row.next(), principal: try row.next(), bucket: try row.next(), code: try row.next(),
            count: try row.next())
    }
}
