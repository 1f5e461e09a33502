import FoundationEssentials
import GatewayCore
import LibPQ

/// Reads samples of an import's changes.
enum ImportSamples {
    struct Sent: Sendable {
        var line: Int32
        var grant: Grant
    }

    /// Reads grants as the first lines with an operation define them. A grant that replaces another has its origin.
    static let sent = Statement<(operation: String, limit: Int64), Sent>(
        """
        SELECT d.place, \(GrantTable.columns.selected(of: "g"))
        FROM (
            SELECT d.place, d.id, d.old_change FROM bulk_diff d WHERE d.operation = $1 ORDER BY d.place LIMIT $2
        ) d
        JOIN LATERAL (
            SELECT d.id, b.principal, b.bucket, b.prefix, b.is_template, b.actions, b.effect, b.conditions, b.not_before,
                b.not_after, b.note, coalesce(o.created_by, '') AS created_by,
                coalesce(o.created_at, clock_timestamp()) AS created_at
            FROM bulk_grants b LEFT JOIN grants o ON o.id = d.id AND o.created_change = d.old_change
            WHERE b.place = d.place
        ) g ON true
        ORDER BY d.place
        """
    ) {
        [$0.operation, $0.limit]
    } decode: { row throws(PostgresError) in
        Sent(line: try row.next(), grant: try Grant(&row))
    }

    /// Reads the grants that would be replaced or removed, in the same order.
    static let present = Statement<(operation: String, limit: Int64), Grant>(
        """
        SELECT \(GrantTable.columns.selected(of: "g"))
        FROM (
            SELECT d.place, d.id, d.old_change FROM bulk_diff d WHERE d.operation = $1 ORDER BY d.place, d.id LIMIT $2
        ) d
        JOIN grants g ON g.id = d.id AND g.created_change = d.old_change
        ORDER BY d.place, d.id
        """
    ) {
        [$0.operation, $0.limit]
    }

    /// Reads samples of each outcome, up to a limit for each.
    static func read(
        atMost limit: Int, in transaction: borrowing PostgresTransaction
    ) throws -> [GrantImportResult.Sample] {
        let limit = Int64(limit)
        let created = try transaction.execute(sent, ("create", limit))
        let updated = try transaction.execute(sent, ("update", limit))
        let before = try transaction.execute(present, ("update", limit))
        let deleted = try transaction.execute(present, ("delete", limit))
        return created.map { .init(outcome: .created, line: Int($0.line), before: nil, after: $0.grant) }
            + zip(updated, before).map { .init(outcome: .updated, line: Int($0.line), before: $1, after: $0.grant) }
            + deleted.map { .init(outcome: .deleted, line: nil, before: $0, after: nil) }
    }
}
