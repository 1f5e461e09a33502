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

    /// Reads the template prefixes that some grants have or had. Versions that follow each other with the same prefix
    /// are one.
    public func templates(among grants: [UUID]) async throws(GatewayError) -> [UUID: [PastTemplate]] {
        var templates: [UUID: [PastTemplate]] = [:]
        for (id, template) in try await ledger.execute(Self.templates, grants) {
            var known = templates[id] ?? []
            if let last = known.last, last.prefix == template.prefix, last.until == template.since {
                known[known.count - 1].until = template.until
            } else {
                known.append(template)
            }
            templates[id] = known
        }
        return templates
    }

    /// Reads between which changes of policy rows put users into groups.
    public func memberships(
        among memberships: [PolicyProposal.Membership]
    ) async throws(GatewayError) -> [PolicyProposal.Membership: [Range<Int64>]] {
        let found = try await ledger.execute(Self.memberships, memberships)
        return Dictionary(grouping: found, by: \.membership).mapValues { $0.map(\.changes) }
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
    }

    /// Reads versions of grants with the changes that began and ended them; each change is looked up by its index.
    static let templates = Statement<[UUID], (id: UUID, template: PastTemplate)>(
        """
        SELECT v.id, v.prefix, v.since, v.until
        FROM (
            SELECT g.id, g.prefix,
                coalesce((SELECT min(m.seq) FROM policy_moments m WHERE m.tag = g.created_change), 0) AS since,
                (SELECT min(m.seq) FROM policy_moments m WHERE m.tag = g.removed_change) AS until
            FROM grants g
            WHERE g.id = ANY ($1) AND g.is_template
        ) v
        ORDER BY v.id, v.since, v.until NULLS LAST
        """, onlyReads: true
    ) {
        [$0]
    } decode: { row throws(PostgresError) in
        let id: UUID = try row.next()
        let prefix = KeyPrefix.template(ExactText(try row.next()))
        return (id, PastTemplate(prefix: prefix, since: try row.next(), until: try row.next()))
    }

    /// Reads memberships that rows have or had. One that ended with the change that began it was never in force.
    static let memberships = Statement<
        [PolicyProposal.Membership], (membership: PolicyProposal.Membership, changes: Range<Int64>)
    >(
        """
        SELECT h.group_principal, h.member_principal, c.seq, coalesce(r.seq, \(Int64.max))
        FROM unnest($1::text[], $2::text[]) AS m (group_principal, member_principal)
        JOIN group_member_history h USING (group_principal, member_principal)
        JOIN policy_moments c ON c.tag = h.created_change
        LEFT JOIN policy_moments r ON r.tag = h.removed_change
        WHERE c.seq < coalesce(r.seq, \(Int64.max))
        """, onlyReads: true
    ) {
        [$0.map(\.group.rawValue), $0.map(\.member.rawValue)]
    } decode: { row throws(PostgresError) in
        let group = try row.nextParsed(Principal.init(_:))
        let member = try row.nextParsed(Principal.init(_:))
        let since: Int64 = try row.next()
        let until: Int64 = try row.next()
        return (PolicyProposal.Membership(group: group, member: member), since..<until)
    }
}
