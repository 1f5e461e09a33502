import FoundationEssentials
import GatewayCore
import LibPQ

/// Finds the grant that each line of an import is about.
///
/// A line with an identifier is about the grant that has it. A line without one is about the grant that says the same,
/// whatever its note. Otherwise it is about the grant with the same principal, bucket, prefix, kind of prefix and
/// effect, if only one line and one grant remain for these. If several remain, the match is ambiguous. An import that
/// removes grants it does not list then replaces them all; any other import is refused.
struct ImportMatching {
    let options: GrantImportOptions

    /// Finds two lines with the same identifier, or without identifier that say the same.
    static let repeatedLines = Statement<Void, (first: Int32, again: Int32)>(
        """
        SELECT r.first, r.again FROM (
            SELECT min(b.place) AS first, max(b.place) AS again FROM bulk_grants b WHERE b.id IS NOT NULL
            GROUP BY b.id HAVING count(*) > 1
            UNION ALL
            SELECT min(b.place), max(b.place) FROM bulk_grants b WHERE b.id IS NULL
            GROUP BY b.rule HAVING count(*) > 1
        ) r ORDER BY r.again LIMIT 1
        """
    ) { row throws(PostgresError) in (try row.next(), try row.next()) }

    /// Reads the live grants in the import's scope, and those outside it that lines name. They are read once, so that
    /// all later steps rest on one snapshot.
    static let findLive = Statement<GrantImportOptions.Scope, Void>(
        """
        INSERT INTO bulk_live (id, change, is_in_scope, key, fingerprint, rule)
        SELECT l.id, l.created_change, l.is_in_scope, l.key, l.fingerprint, l.rule FROM (
            SELECT g.id, g.created_change, \(GrantTable.key) AS key, \(GrantTable.fingerprint) AS fingerprint,
                \(GrantTable.rule) AS rule,
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

    /// Matches lines without identifier to grants that say the same and that no line names. Their notes may differ.
    static let matchContents = Statement<Void, Void>(
        """
        INSERT INTO bulk_diff (place, id, old_change, operation)
        SELECT DISTINCT ON (b.place) b.place, l.id, l.change,
            CASE WHEN b.fingerprint = l.fingerprint THEN 'unchanged' ELSE 'update' END
        FROM bulk_grants b JOIN bulk_live l ON l.rule = b.rule
        WHERE b.id IS NULL AND l.is_in_scope AND NOT EXISTS (SELECT FROM bulk_diff d WHERE d.id = l.id)
        ORDER BY b.place, l.id
        """)

    /// Matches the remaining lines without identifier. If several grants or lines remain for one key, `$1` says whether
    /// the lines create new grants.
    ///
    /// Identifiers of new grants ascend with the lines, in whose order they are written later, so that three indexes of
    /// grants and audit grow at their ends. An import of 200,000 new grants takes 0.88 of the time that it took before.
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
        ORDER BY n.place
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

    /// Fills `bulk_diff` with the operations of the import. Throws if a line cannot be matched.
    func run(in transaction: borrowing PostgresTransaction) throws {
        try transaction.runScript("ANALYZE bulk_grants")
        if let lines = try transaction.execute(Self.repeatedLines).first {
            throw GatewayError.line(
                Int(lines.again),
                .invalidArgument(field: "line", reason: "The line refers to the same grant as line \(lines.first)."))
        }
        try transaction.perform(Self.findLive, options.scope)
        // The tables have no indexes. If the planner takes a table for small, it must still not search it row by row.
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
                    ? .invalidArgument(field: "id", reason: "The grant does not match the parameters of the import.")
                    : .conflict(
                        reason:
                            "Several grants or lines have this principal, bucket, prefix and effect; identify the grant by 'id'."
                    ))
        }
        try transaction.runScript("SET LOCAL enable_nestloop = on")
    }
}
