import Foundation
import GatewayCore
import LibPQ

/// Statements about quotas.
enum QuotaStatements {
    static let insert = Statement<Quota, Void>(
        """
        INSERT INTO quotas (id, principal, bucket, action, metric, period, sharing, quota_limit)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
        """
    ) {
        [
            $0.id, $0.principal.rawValue, $0.bucket?.rawValue, $0.action?.rawValue, $0.metric.rawValue,
            $0.period.rawValue, $0.sharing.rawValue, $0.limit,
        ]
    }

    /// The other columns fix what its counters mean, and the gateway's role may not change them.
    static let update = Statement<Quota, Void>(
        "UPDATE quotas SET quota_limit = $2, revision = gen_random_uuid() WHERE id = $1"
    ) { [$0.id, $0.limit] }

    static let read = AdminStatements.read(
        "q.revision", QuotaRow.columns, from: "quotas q WHERE q.id = $1::text::uuid"
    ) { row, first throws(PostgresError) in try QuotaRow(row, from: first).quota(first) }

    static let page = Statement<PageRequest, Quota>(
        """
        SELECT \(QuotaRow.columns) FROM quotas q
        WHERE ($1::text IS NULL OR q.principal = $1) AND ($2::text IS NULL OR q.bucket = $2)
            AND ($3::text IS NULL OR q.action = $3) AND ($4::text IS NULL OR q.metric = $4)
            AND ($5::text IS NULL OR q.period = $5) AND ($6::text IS NULL OR q.id > $6::text::uuid)
        ORDER BY q.id LIMIT $7
        """, onlyReads: true
    ) {
        $0.parameters
    } decode: { row throws(PostgresError) in
        try QuotaRow(row, from: 0).quota(0)
    }

    static let lock = AdminStatements.lock(
        scope: "q.principal", revision: "q.revision", from: "quotas q WHERE q.id = $1::text::uuid")

    static let delete = Statement<String, Void>("DELETE FROM quotas q WHERE q.id = $1::text::uuid") { [$0] }

    static let document = AdminStatements.document(
        """
        'id', r.id, 'principal', r.principal, 'bucket', r.bucket, 'action', r.action, 'metric', r.metric,
        'period', r.period, 'sharing', r.sharing, 'limit', r.quota_limit, 'createdAt', r.created_at
        """,
        from: "quotas r WHERE r.id = $1::text::uuid")
}

extension AdminTable<Quota> {
    static var quotas: Self {
        AdminTable(
            kind: .quota,
            filters: [.text("principal"), .text("bucket"), .text("action"), .text("metric"), .text("period")],
            order: [.uuid("id")],
            position: { [$0.id.uuidString.lowercased()] }, identifier: { $0.id.uuidString.lowercased() },
            isIdentifier: AdminColumn.isLowerCaseUUID,
            referenceConflict: "The bucket does not exist.",
            insert: { quota, transaction in try transaction.perform(QuotaStatements.insert, quota) },
            read: QuotaStatements.read, page: QuotaStatements.page, lockRow: QuotaStatements.lock,
            update: { change, transaction in try transaction.perform(QuotaStatements.update, change.row) },
            delete: { removal, transaction in try transaction.perform(QuotaStatements.delete, removal.id) },
            document: QuotaStatements.document)
    }
}
