import Foundation
import GatewayCore
import LibPQ

/// Finds out which lines of an import are about which grants.
///
/// A line with an identifier is about the grant that has it. Any other is about a grant that says the same or, where
/// one line and one grant are left for the same principal, bucket, prefix, kind of prefix and effect, about that one.
/// Where it could be about several, nothing is guessed: an import that removes what is not in it replaces them all, any
/// other is refused.
struct ImportMatching {
    let options: GrantImportOptions

    /// Two lines with the same identifier, or without one and with the same content.
    static let repeatedLines = Statement<Void, (first: Int32, again: Int32)>(
        """
        SELECT r.first, r.again FROM (
            SELECT min(b.place) AS first, max(b.place) AS again FROM bulk_grants b WHERE b.id IS NOT NULL
            GROUP BY b.id HAVING count(*) > 1
            UNION ALL
            SELECT min(b.place), max(b.place) FROM bulk_grants b WHERE b.id IS NULL
            GROUP BY b.fingerprint HAVING count(*) > 1
        ) r ORDER BY r.again LIMIT 1
        """
    ) { row throws(PostgresError) in (try row.next(), try row.next()) }

    /// The live grants that may be touched, and those that lines name though they may not. Read once: all else rests on
    /// this one look.
    static let findLive = Statement<GrantImportOptions.Scope, Void>(
        """
        INSERT INTO bulk_live (id, change, is_in_scope, key, fingerprint)
        SELECT l.id, l.created_change, l.is_in_scope, l.key, l.fingerprint FROM (
            SELECT g.id, g.created_change, \(GrantTable.key) AS key, \(GrantTable.fingerprint) AS fingerprint,
                ($1::text IS NULL OR g.principal = $1) AND ($2::text IS NULL OR g.bucket = $2)
                    AND ($3::text IS NULL OR g.prefix = $3) AS is_in_scope
            FROM grants g WHERE g.removed_at IS NULL
        ) l
        WHERE l.is_in_scope OR EXISTS (SELECT FROM bulk_grants b WHERE b.id = l.id)
        """
    ) { [$0.principal?.rawValue, $0.bucket?.rawValue, $0.prefix?.rawValue] }

    static let matchIdentifiers = Statement<Void, Void>(
        """
        INSERT INTO bulk_diff (place, id, old_change, operation)
        SELECT b.place, b.id, l.change,
            CASE
                WHEN l.id IS NULL THEN 'create'
                WHEN NOT l.is_in_scope THEN 'outside'
                WHEN b.fingerprint = l.fingerprint THEN 'unchanged'
                ELSE 'update'
            END
        FROM bulk_grants b LEFT JOIN bulk_live l ON l.id = b.id
        WHERE b.id IS NOT NULL
        """)

    /// Lines that say what a grant says that no line names.
    static let matchContents = Statement<Void, Void>(
        """
        INSERT INTO bulk_diff (place, id, old_change, operation)
        SELECT DISTINCT ON (b.place) b.place, l.id, l.change, 'unchanged'
        FROM bulk_grants b JOIN bulk_live l ON l.fingerprint = b.fingerprint
        WHERE b.id IS NULL AND l.is_in_scope AND NOT EXISTS (SELECT FROM bulk_diff d WHERE d.id = l.id)
        ORDER BY b.place, l.id
        """)

    /// The other lines without identifier. Where several grants or lines are left for one key, `$1` says whether the
    /// lines make new ones.
    static let matchKeys = Statement<Bool, Void>(
        """
        INSERT INTO bulk_diff (place, id, old_change, operation)
        SELECT n.place, CASE WHEN n.count = 1 AND l.count = 1 THEN l.id ELSE uuid_v7() END,
            CASE WHEN n.count = 1 AND l.count = 1 THEN l.change END,
            CASE
                WHEN l.key IS NULL THEN 'create'
                WHEN n.count = 1 AND l.count = 1 THEN 'update'
                WHEN $1 THEN 'create'
                ELSE 'ambiguous'
            END
        FROM (
            SELECT b.place, b.key, count(*) OVER (PARTITION BY b.key) AS count FROM bulk_grants b
            WHERE b.id IS NULL AND NOT EXISTS (SELECT FROM bulk_diff d WHERE d.place = b.place)
        ) n
        LEFT JOIN (
            SELECT DISTINCT ON (f.key) f.key, f.id, f.change, count(*) OVER (PARTITION BY f.key) AS count FROM bulk_live f
            WHERE f.is_in_scope AND NOT EXISTS (SELECT FROM bulk_diff d WHERE d.id = f.id)
            ORDER BY f.key
        ) l ON l.key = n.key
        """
    ) { [$0] }

    static let prune = Statement<Void, Void>(
        """
        INSERT INTO bulk_diff (id, old_change, operation)
        SELECT l.id, l.change, 'delete' FROM bulk_live l
        WHERE l.is_in_scope AND NOT EXISTS (SELECT FROM bulk_diff d WHERE d.id = l.id)
        """)

    static let refusal = Statement<Void, (line: Int32, isOutside: Bool)>(
        """
        SELECT d.place, d.operation = 'outside' FROM bulk_diff d WHERE d.operation IN ('ambiguous', 'outside')
        ORDER BY d.place LIMIT 1
        """
    ) { row throws(PostgresError) in (try row.next(), try row.next()) }

    /// Runs the statements.
    func run(in transaction: borrowing PostgresTransaction) throws {
        try transaction.runScript("ANALYZE bulk_grants")
        if let lines = try transaction.execute(Self.repeatedLines).first {
            throw GatewayError.line(
                Int(lines.again),
                .invalidArgument(field: "line", reason: "The line is about the same grant as line \(lines.first)."))
        }
        try transaction.perform(Self.findLive, options.scope)
        // The tables have no indexes: what the planner takes for a small one, it must not search row by row.
        try transaction.runScript("ANALYZE bulk_live; SET LOCAL enable_nestloop = off")
        try transaction.perform(Self.matchIdentifiers, ())
        try transaction.runScript("ANALYZE bulk_diff")
        try transaction.perform(Self.matchContents, ())
        try transaction.runScript("ANALYZE bulk_diff")
        try transaction.perform(Self.matchKeys, options.prunes)
        try transaction.runScript("ANALYZE bulk_diff")
        if options.prunes { try transaction.perform(Self.prune, ()) }
        if let refusal = try transaction.execute(Self.refusal).first {
            throw GatewayError.line(
                Int(refusal.line),
                refusal.isOutside
                    ? .invalidArgument(field: "id", reason: "The grant is not among those that the query leaves.")
                    : .conflict(
                        reason:
                            "More than one grant or line is for this principal, bucket, prefix and effect: name the grant by id."
                    ))
        }
        try transaction.runScript("SET LOCAL enable_nestloop = on")
    }
}
