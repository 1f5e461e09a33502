import FoundationEssentials
import GatewayCore
import LibPQ

/// Finds the grants that a batch changes. Items name them by identifier.
enum BatchMatching {
    /// Finds the live grants that items name, as far as the admin may see them, and whether the admin may change them.
    static let findLive = Statement<AdminAuthority, Void>(
        """
        INSERT INTO bulk_live (id, change, is_in_scope, key, fingerprint, rule)
        SELECT g.id, g.created_change, \(GrantTable.isInside("$2")), '', \(GrantTable.fingerprint), ''
        FROM (SELECT b.id FROM bulk_grants b WHERE b.id IS NOT NULL UNION SELECT r.id FROM bulk_removals r) n
        JOIN grants g ON g.id = n.id AND g.removed_at IS NULL AND \(GrantTable.isInside("$1"))
        """
    ) { [$0.sees.parameter, $0.changes.parameter] }

    static let matchWrites = Statement<Void, Void>(
        """
        INSERT INTO bulk_diff (place, id, old_change, operation)
        SELECT b.place, coalesce(b.id, uuid_v7()), l.change,
            CASE
                WHEN b.id IS NULL THEN 'create'
                WHEN l.id IS NULL THEN 'missing'
                WHEN NOT l.is_in_scope THEN 'outside'
                WHEN b.revision <> l.change THEN 'stale'
                WHEN b.fingerprint = l.fingerprint THEN 'unchanged'
                ELSE 'update'
            END
        FROM bulk_grants b LEFT JOIN bulk_live l ON l.id = b.id
        """)

    static let matchRemovals = Statement<Void, Void>(
        """
        INSERT INTO bulk_diff (removal_place, id, old_change, operation)
        SELECT r.place, r.id, l.change,
            CASE WHEN l.id IS NULL THEN 'missing' WHEN NOT l.is_in_scope THEN 'outside'
                WHEN r.revision <> l.change THEN 'stale' ELSE 'delete' END
        FROM bulk_removals r LEFT JOIN bulk_live l ON l.id = r.id
        """)

    /// Lists items that cannot be applied. Items that name an unknown grant come first.
    static let refusals = Statement<Int64, ItemRefusal>(
        """
        SELECT d.place, d.removal_place, d.operation FROM bulk_diff d
        WHERE d.operation IN ('missing', 'outside', 'stale')
        ORDER BY d.operation, d.place, d.removal_place LIMIT $1
        """
    ) {
        [$0]
    } decode: { row throws(PostgresError) in
        let write: Int32? = try row.next()
        let removal: Int32? = try row.next()
        let operation: String = try row.next()
        let place: ItemRefusal.Place =
            if let write { .item(array: "writes", index: Int(write)) } else {
                .item(array: "deletes", index: Int(removal ?? 0))
            }
        let error: GatewayError =
            switch operation {
            case "stale": .preconditionFailed
            case "outside": .outsideAdminScope
            default: .notFound(.grant)
            }
        return ItemRefusal(place, error)
    }

    /// Lists the outcome for each grant that is written, in order.
    static let outcomes = Statement<Void, GrantBatchResult.Write>(
        "SELECT d.id, d.operation, d.old_change FROM bulk_diff d WHERE d.place IS NOT NULL ORDER BY d.place"
    ) { row throws(PostgresError) in
        GrantBatchResult.Write(id: try row.next(), outcome: try row.nextGrantOutcome(), revision: try row.next())
    }

    /// Fills `bulk_diff` with the operations of the batch. Throws if some items cannot be applied.
    static func run(within authority: AdminAuthority, in transaction: borrowing PostgresTransaction) throws {
        try transaction.runScript("ANALYZE bulk_grants; ANALYZE bulk_removals")
        try transaction.perform(findLive, authority)
        try transaction.runScript("ANALYZE bulk_live")
        try transaction.perform(matchWrites, ())
        try transaction.perform(matchRemovals, ())
        let refusals = try transaction.execute(refusals, 100)
        if let error = GatewayError(refusing: refusals) { throw error }
    }
}

extension PostgresRow {
    /// Reads the next column, an operation of `bulk_diff` other than a refusal.
    mutating func nextGrantOutcome() throws(PostgresError) -> GrantOutcome {
        let column = place
        let operation: String = try next()
        switch operation {
        case "create": return .created
        case "update": return .updated
        case "delete": return .deleted
        case "unchanged": return .unchanged
        default: throw .decoding(column: column, reason: "an operation that is none")
        }
    }
}
