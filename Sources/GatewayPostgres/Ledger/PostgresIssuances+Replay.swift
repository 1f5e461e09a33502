public import FoundationEssentials
public import GatewayCore
import LibPQ

extension PostgresIssuances: ReplaySource {
    /// Reads a page of issuances that a policy change may affect.
    public func issuances(_ query: ReplayQuery) async throws(GatewayError) -> LedgerPage<RecordedIssuance> {
        let limit = min(max(query.limit, 1), 5000)
        let token = PageToken(of: "simulate", filters: ["label": query.label])
        var range = try LedgerRange(from: query.from, to: query.to, span: LedgerRange.day, now: query.to)
        var place: LedgerPlace?
        if let text = query.pageToken {
            let values = try token.values(in: text, count: 4)
            guard let id = UUID(uuidString: values[3]) else { throw PageToken.foreign }
            range.from = try PostgresTimestamp(token: values[0]).date
            range.to = try PostgresTimestamp(token: values[1]).date
            place = LedgerPlace(end: try PostgresTimestamp(token: values[2]), id: id)
        }
        let from = PostgresTimestamp(range.from)
        let to = PostgresTimestamp(range.to ?? query.to)
        let days = LedgerDaysRequest(filter: IssuanceFilter(), from: from, to: place?.end ?? to)
        let (rows, last) = try await ledger.walk(days, after: place, limit: limit, id: \.id) {
            day, before, count, deadline async throws(GatewayError) in
            let request = ReplayRequest(query: query, day: day, before: before, limit: count)
            return try await ledger.execute(Self.replay, request, deadline: deadline)
        }
        let next = last.map {
            token.text(after: [from.tokenText, to.tokenText, $0.end.tokenText, $0.id.lowercaseText])
        }
        return LedgerPage(items: rows, nextPageToken: next, range: range)
    }

    /// Reads which of some grants are templates.
    public func templates(among grants: [UUID]) async throws(GatewayError) -> [UUID: KeyPrefix] {
        let rows = try await ledger.execute(Self.templates, grants)
        return Dictionary(rows.map { ($0.id, $0.template) }) { first, _ in first }
    }

    struct ReplayRequest: Sendable {
        var query: ReplayQuery
        var day: LedgerDay
        var before: UUID?
        var limit: Int
    }

    static let replay = Statement<ReplayRequest, RecordedIssuance>(
        """
        SELECT \(IssuanceTable.columns) FROM issuances i
        WHERE i.issued_at >= $1 AND i.issued_at < $2
            AND (
                (i.bucket = ANY ($3) AND ($4::text[] IS NULL OR i.principal = ANY ($4)))
                OR i.principal = ANY ($5)
            )
            AND ($6::uuid IS NULL OR i.id < $6)
        ORDER BY i.id DESC LIMIT $7
        """, onlyReads: true
    ) {
        [
            $0.day.from, $0.day.to, $0.query.buckets.map(\.rawValue), $0.query.principals.map { $0.map(\.rawValue) },
            $0.query.members.map(\.rawValue), $0.before, Int64($0.limit),
        ]
    } decode: { row throws(PostgresError) in
        try RecordedIssuance(&row)
    }

    static let templates = Statement<[UUID], (id: UUID, template: KeyPrefix)>(
        """
        SELECT DISTINCT ON (g.id) g.id, g.prefix FROM grants g
        WHERE g.id = ANY ($1) AND g.is_template ORDER BY g.id, g.created_at
        """, onlyReads: true
    ) {
        [$0]
    } decode: { row throws(PostgresError) in
        (try row.next(), .template(ExactText(try row.next())))
    }
}
