public import FoundationEssentials
public import GatewayCore
import LibPQ

extension PostgresIssuances: ReplaySource {
    /// Reads a page of issuances that a policy change may affect.
    public func issuances(_ query: ReplayQuery) async throws(GatewayError) -> LedgerPage<RecordedIssuance> {
        try await ledger.page(
            of: PageToken(of: "simulate", filters: ["label": query.label]), after: query.pageToken,
            in: LedgerRange(from: query.from, to: query.to, span: LedgerRange.day, now: query.to),
            passing: IssuanceFilter(), limit: min(max(query.limit, 1), 5000), id: \.id
        ) { request async throws(GatewayError) in
            try await ledger.execute(
                Self.replay, ReplayRequest(query: query, request: request), deadline: request.deadline)
        }
    }

    /// Reads which of some grants are templates.
    public func templates(among grants: [UUID]) async throws(GatewayError) -> [UUID: KeyPrefix] {
        let rows = try await ledger.execute(Self.templates, grants)
        return Dictionary(rows.map { ($0.id, $0.template) }) { first, _ in first }
    }

    struct ReplayRequest: Sendable {
        var query: ReplayQuery
        var request: LedgerDayRequest
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
            $0.request.day.from, $0.request.day.to, $0.query.buckets.map(\.rawValue),
            $0.query.principals.map { $0.map(\.rawValue) }, $0.query.members.map(\.rawValue), $0.request.before,
            Int64($0.request.limit),
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
