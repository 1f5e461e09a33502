import FoundationEssentials
import GatewayCore
import LibPQ

/// Checks and writes the changes listed in `bulk_diff`, in one transaction with the rest of a policy change.
struct BulkWriting {
    /// Another change touched a grant after it was read. Nothing was written, and a new attempt may succeed.
    struct Overtaken: Error {}

    let change: ChangeContext
    /// Returns the place of an item for error messages.
    let place: @Sendable (Int) -> ItemRefusal.Place

    /// Counts the grants for each operation.
    static let count = Statement<Void, (outcome: GrantOutcome, count: Int64)>(
        "SELECT d.operation, count(*) FROM bulk_diff d GROUP BY d.operation"
    ) { row throws(PostgresError) in (try row.nextGrantOutcome(), try row.next()) }

    /// Finds grants for buckets that do not exist.
    static let bucketless = Statement<Void, Int32>(
        """
        SELECT b.place FROM bulk_diff d JOIN bulk_grants b ON b.place = d.place
        WHERE d.operation IN ('create', 'update') AND NOT EXISTS (SELECT FROM buckets k WHERE k.name = b.bucket)
        ORDER BY b.place LIMIT 100
        """)

    /// Finds templates that exceed the limit `$1` of their principal in their bucket. Templates that stay unchanged
    /// count too.
    static let surplusTemplates = Statement<Int64, Int32>(
        """
        SELECT n.place FROM (
            SELECT b.principal, b.bucket, max(b.place) AS place, count(*) AS count
            FROM bulk_diff d JOIN bulk_grants b ON b.place = d.place
            WHERE d.operation IN ('create', 'update') AND b.is_template GROUP BY b.principal, b.bucket
        ) n
        LEFT JOIN (
            SELECT g.principal, g.bucket, count(*) AS count FROM grants g
            WHERE g.is_template AND g.removed_at IS NULL AND NOT EXISTS (
                SELECT FROM bulk_diff d WHERE d.id = g.id AND d.operation IN ('create', 'update', 'delete'))
            GROUP BY g.principal, g.bucket
        ) o ON o.principal = n.principal AND o.bucket = n.bucket
        WHERE n.count + coalesce(o.count, 0) > $1
        ORDER BY n.place LIMIT 100
        """
    ) {
        [$0]
    }

    /// Finds grants that would say the same as another, with the identifier of that one: a live grant, or `nil` for an
    /// earlier one that the change would create.
    static let twins = Statement<Void, (place: Int32, id: UUID?)>(
        """
        WITH written AS MATERIALIZED (
            SELECT b.place, d.id, b.principal, b.bucket, b.prefix, b.effect, b.rule,
                first_value(d.id) OVER firsts AS first_id, first_value(d.operation) OVER firsts AS first_operation
            FROM bulk_diff d JOIN bulk_grants b ON b.place = d.place
            WHERE d.operation IN ('create', 'update', 'unchanged')
            WINDOW firsts AS (PARTITION BY b.rule ORDER BY d.operation = 'create', b.place)
        )
        SELECT t.place, t.id FROM (
            SELECT w.place, CASE WHEN w.first_operation <> 'create' THEN w.first_id END AS id
            FROM written w WHERE w.id <> w.first_id
            UNION ALL
            -- Grouping, unlike a join, stays fast where all are twins.
            SELECT min(l.place), l.id FROM (
                SELECT w.place, g.id FROM written w
                JOIN grants g ON g.principal = w.principal AND g.bucket = w.bucket AND g.prefix = w.prefix
                    AND g.effect = w.effect AND g.removed_at IS NULL
                WHERE w.id = w.first_id AND g.id <> w.id AND \(GrantTable.rule) = w.rule
                UNION ALL
                SELECT NULL, d.id FROM bulk_diff d
            ) l
            GROUP BY l.id HAVING count(*) = count(l.place)
        ) t
        ORDER BY t.place LIMIT 100
        """
    ) { row throws(PostgresError) in (try row.next(), try row.next()) }

    static let begin = Statement<Void, UUID>("SELECT current_policy_change()")

    /// Ends the replaced and removed versions that no other change has ended.
    static let remove = Statement<(change: UUID, actor: String), Void>(
        """
        UPDATE grants g SET removed_at = clock_timestamp(), removed_by = $2, removed_change = $1
        FROM bulk_diff d
        WHERE d.operation IN ('update', 'delete') AND g.id = d.id AND g.created_change = d.old_change
            AND g.removed_at IS NULL
        """
    ) { [$0.change, $0.actor] }

    /// Adds the new versions, and one audit line for each grant. A grant that existed before keeps its origin.
    ///
    /// The lines take the new versions from the statement itself. Read back from the table, they were expected to be
    /// few, as a change that PostgreSQL has no statistics of, and each line was compared with all of them: of the 7.5 s
    /// that 10,000 new grants took beside a million, that was 6. The plan is joined to the versions, not these to the
    /// plan, so that the narrower of the two is hashed.
    static let insert = Statement<(id: UUID, change: ChangeContext), Void>(
        """
        WITH made AS (
            INSERT INTO grants AS g (id, principal, bucket, prefix, is_template, actions, effect, conditions, not_before,
                not_after, note, created_by, created_at, created_change)
            SELECT d.id, b.principal, b.bucket, b.prefix, b.is_template, b.actions, b.effect, b.conditions, b.not_before,
                b.not_after, b.note, coalesce(o.created_by, $2), coalesce(o.created_at, clock_timestamp()), $1
            FROM bulk_diff d
            JOIN bulk_grants b ON b.place = d.place
            LEFT JOIN grants o ON o.id = d.id AND o.created_change = d.old_change
            WHERE d.operation IN ('create', 'update')
            RETURNING g AS version
        )
        INSERT INTO admin_audit (id, actor, request_id, credential, operation, kind, resource_id, before, after)
        SELECT uuid_v7(), $2, $3, $4, d.operation, 'Grant', d.id::text, grant_document(o), grant_document(n.version)
        FROM made n
        JOIN bulk_diff d ON d.id = (n.version).id AND d.operation IN ('create', 'update')
        LEFT JOIN grants o ON o.id = d.id AND o.created_change = d.old_change
        UNION ALL
        SELECT uuid_v7(), $2, $3, $4, d.operation, 'Grant', d.id::text, grant_document(o), NULL
        FROM bulk_diff d
        LEFT JOIN grants o ON o.id = d.id AND o.created_change = d.old_change
        WHERE d.operation = 'delete'
        """
    ) { [$0.id, $0.change.actor.rawValue, $0.change.requestID, $0.change.credential?.rawValue] }

    /// Adds one audit line for a whole import. It carries the identifier of the change, which leads to the versions
    /// that the import made.
    static let auditImport = Statement<(id: UUID, change: ChangeContext, summary: String), Void>(
        """
        INSERT INTO admin_audit (id, actor, request_id, credential, operation, kind, resource_id, after)
        VALUES (uuid_v7(), $2, $3, $4, '\(AuditOperation.import.rawValue)', 'Grant', $1::text, $5::text::jsonb)
        """
    ) { [$0.id, $0.change.actor.rawValue, $0.change.requestID, $0.change.credential?.rawValue, $0.summary] }

    /// Lists the principals that the change affects. It stops at 1,001, one more than the log names singly.
    static let scopes = Statement<Void, String>(
        """
        SELECT DISTINCT p.principal FROM (
            SELECT b.principal FROM bulk_diff d JOIN bulk_grants b ON b.place = d.place
            WHERE d.operation IN ('create', 'update')
            UNION ALL
            SELECT g.principal FROM bulk_diff d JOIN grants g ON g.id = d.id AND g.created_change = d.old_change
            WHERE d.operation IN ('update', 'delete')
        ) p LIMIT 1001
        """)

    /// Locks the buckets, so that none is removed before the grants are committed. Counts the buckets that no longer
    /// exist.
    static let lockBuckets = Statement<Void, Int64>(
        """
        WITH wanted AS MATERIALIZED (
            SELECT DISTINCT b.bucket FROM bulk_diff d JOIN bulk_grants b ON b.place = d.place
            WHERE d.operation IN ('create', 'update')
        ), locked AS MATERIALIZED (
            SELECT k.name FROM buckets k WHERE k.name IN (SELECT w.bucket FROM wanted w) ORDER BY k.name FOR KEY SHARE
        )
        SELECT (SELECT count(*) FROM wanted) - (SELECT count(*) FROM locked)
        """)

    static let writesTemplates = Statement<Void, Bool>(
        """
        SELECT EXISTS (
            SELECT FROM bulk_diff d JOIN bulk_grants b ON b.place = d.place
            WHERE d.operation IN ('create', 'update') AND b.is_template)
        """)

    /// Locks the adding of templates, for all principals and buckets, until the transaction ends.
    static let lockTemplates = Statement<Void, Void>("SELECT pg_advisory_xact_lock(\(AdvisoryLock.templates.key))")

    /// Counts the planned operations, and throws if some of them are not allowed.
    func check(in transaction: borrowing PostgresTransaction) throws -> GrantCounts {
        try transaction.runScript("ANALYZE bulk_diff")
        var counts = GrantCounts()
        for row in try transaction.execute(Self.count) { counts[row.outcome] = Int(row.count) }
        let bucketless = try transaction.execute(Self.bucketless)
        try refuse(bucketless, .conflict(reason: "The bucket does not exist."))
        let surplus = try transaction.execute(Self.surplusTemplates, GrantTable.maxTemplates)
        try refuse(surplus, .conflict(reason: GrantTable.tooManyTemplates))
        let twins = try transaction.execute(Self.twins).map { twin -> ItemRefusal in
            let error: GatewayError =
                twin.id.map { .alreadyExists(.grant, id: $0.lowercaseText) }
                ?? .conflict(reason: "An earlier grant of this change says the same.")
            return ItemRefusal(place(Int(twin.place)), error)
        }
        if let error = GatewayError(refusing: twins) { throw error }
        return counts
    }

    private func refuse(_ places: [Int32], _ error: GatewayError) throws(GatewayError) {
        if let error = GatewayError(refusing: places.map({ ItemRefusal(place(Int($0)), error) })) { throw error }
    }

    /// Writes the operations that ``check(in:)`` counted.
    ///
    /// Locks that others wait for are taken as late as possible. Those of buckets and templates follow the writing of
    /// the rows; the lock of the log is taken by the commit.
    /// - Returns: The identifier of the change.
    func write(_ counts: GrantCounts, summary: String?, in transaction: borrowing PostgresTransaction) throws -> UUID {
        try transaction.mark(change)
        let actor = change.actor.rawValue
        guard let id = try transaction.execute(Self.begin).first else {
            throw PostgresError.decoding(column: 0, reason: "no change")
        }
        let removed = try transaction.perform(Self.remove, (id, actor))
        guard removed == counts[.updated] + counts[.deleted] else { throw Overtaken() }
        try transaction.perform(Self.insert, (id, change))
        if let summary {
            try transaction.perform(Self.auditImport, (id, change, summary))
        }
        let scopes = try transaction.execute(Self.scopes)
        guard try transaction.execute(Self.lockBuckets).first == 0 else { throw Overtaken() }
        if try transaction.execute(Self.writesTemplates).first == true {
            try transaction.perform(Self.lockTemplates, ())
            let surplus = try transaction.execute(Self.surplusTemplates, GrantTable.maxTemplates)
            guard surplus.isEmpty else { throw Overtaken() }
        }
        // The claim of the request's idempotency key may have expired during so much work.
        try transaction.mark(change)
        let line = PolicyChange(
            scopes: scopes, actor: actor, requestID: change.requestID, proof: change.proof, attempts: Self.maxAttempts)
        try transaction.perform(PolicyLogTable.append, line)
        return id
    }

    /// Number of attempts to get the lock of the log. One slow commit of another change must not waste minutes of work.
    private static let maxAttempts: Int32 = 3
}
