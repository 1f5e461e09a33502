import Foundation
import GatewayCore
import LibPQ

/// Statements about grants; only live ones are read.
enum GrantStatements {
    /// The database sets the time of creation unless this is another version of a grant that was there.
    static let insert = Statement<(grant: Grant, conditions: String, isChanged: Bool), Void>(
        """
        INSERT INTO grants (id, principal, bucket, prefix, is_template, actions, effect, conditions, not_before,
            not_after, note, created_by, created_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8::text::jsonb, $9, $10, $11, $12, coalesce($13, clock_timestamp()))
        """
    ) {
        [
            $0.grant.id, $0.grant.principal.rawValue, $0.grant.bucket.rawValue, $0.grant.prefix.text,
            $0.grant.prefix.isTemplate, $0.grant.actions.map(\.rawValue).sorted(), $0.grant.effect.rawValue,
            $0.conditions, $0.grant.notBefore, $0.grant.notAfter, $0.grant.note, $0.grant.createdBy,
            $0.isChanged ? $0.grant.createdAt : nil,
        ]
    }

    /// Keeps the bucket from being removed until the grant is committed, or finds out that it is gone.
    static let lockBucket = Statement<String, Bool>("SELECT true FROM buckets b WHERE b.name = $1 FOR KEY SHARE") {
        [$0]
    } decode: { row throws(PostgresError) in
        try row.decode(0)
    }

    /// Lets one transaction after another add templates for a principal and bucket.
    static let lockTemplates = Statement<(principal: String, bucket: String), Void>(
        "SELECT pg_advisory_xact_lock(\(AdvisoryLock.templatesForOne.key))"
    ) { [$0.principal, $0.bucket] }

    /// Keeps out who adds many templates, to principals and buckets in great number.
    static let shareTemplateLock = Statement<Void, Void>(
        "SELECT pg_advisory_xact_lock_shared(\(AdvisoryLock.templates.key))")

    /// A statement of its own, so that it sees the templates of those who had the lock before.
    static let countTemplates = Statement<(principal: String, bucket: String), Int64>(
        """
        SELECT count(*) FROM grants g
        WHERE g.principal = $1 AND g.bucket = $2 AND g.is_template AND g.removed_at IS NULL
        """
    ) {
        [$0.principal, $0.bucket]
    } decode: { row throws(PostgresError) in
        try row.decode(0)
    }

    static let read = AdminStatements.read(
        "g.created_change", GrantRow.columns, from: "grants g WHERE g.id = $1::text::uuid AND g.removed_at IS NULL"
    ) { row, first throws(PostgresError) in try GrantRow(row, from: first).grant(first) }

    /// Filters of lists and exports of grants; ``isListed`` takes their values as its first parameters.
    static let filters: [AdminColumn] = [
        .text("principal"), .text("bucket"), .text("prefix"), .text("action"), .text("effect"), .instant("activeAt"),
    ]

    /// Whether a grant `g` is there and passes the filters `$1` to `$6`.
    static let isListed = """
        g.removed_at IS NULL AND ($1::text IS NULL OR g.principal = $1) AND ($2::text IS NULL OR g.bucket = $2)
            AND ($3::text IS NULL OR g.prefix = $3) AND ($4::text IS NULL OR g.actions @> ARRAY[$4::text])
            AND ($5::text IS NULL OR g.effect = $5)
            AND ($6::text IS NULL OR (coalesce(g.not_before <= $6::text::timestamptz, true)
                AND coalesce(g.not_after > $6::text::timestamptz, true)))
        """

    /// In the order of the index by principal, so that a page costs the same wherever it begins.
    static let page = Statement<PageRequest, Grant>(
        """
        SELECT \(GrantRow.columns) FROM grants g
        WHERE \(isListed)
            AND ($7::text IS NULL OR (g.principal, g.bucket, g.prefix, g.id) > ($7, $8, $9, $10::text::uuid))
        ORDER BY g.principal, g.bucket, g.prefix, g.id LIMIT $11
        """, onlyReads: true
    ) {
        $0.parameters
    } decode: { row throws(PostgresError) in
        try GrantRow(row, from: 0).grant(0)
    }

    static let lock = AdminStatements.lock(
        scope: "g.principal", revision: "g.created_change",
        from: "grants g WHERE g.id = $1::text::uuid AND g.removed_at IS NULL")

    /// The row stays: it says later why something was permitted.
    static let remove = Statement<Removal, Void>(
        """
        UPDATE grants
        SET removed_at = clock_timestamp(), removed_by = $2, removed_change = current_policy_change()
        WHERE id = $1::text::uuid AND removed_at IS NULL
        """
    ) { [$0.id, $0.actor] }

    static let document = Statement<String, String>(
        "SELECT grant_document(r)::text FROM grants r WHERE r.id = $1::text::uuid AND r.removed_at IS NULL"
    ) {
        [$0]
    } decode: { row throws(PostgresError) in
        try row.decode(0)
    }
}

extension AdminTable<Grant> {
    /// Most templates of one principal in one bucket: they are expanded and compared one by one.
    static var maxTemplates: Int64 { 64 }
    static var tooManyTemplates: String { "A principal has at most \(maxTemplates) templates in one bucket." }

    static var grants: Self {
        AdminTable(
            kind: .grant, filters: GrantStatements.filters,
            order: [.text("principal"), .text("bucket"), .text("prefix"), .uuid("id")],
            position: {
                [$0.principal.rawValue, $0.bucket.rawValue, $0.prefix.text, $0.id.uuidString.lowercased()]
            }, identifier: { $0.id.uuidString.lowercased() }, isIdentifier: AdminColumn.isLowerCaseUUID,
            referenceConflict: "The bucket does not exist.",
            insert: { grant, transaction in try insert(grant, isChanged: false, in: transaction) },
            read: GrantStatements.read, page: GrantStatements.page, lockRow: GrantStatements.lock,
            update: { change, transaction in
                try transaction.perform(GrantStatements.remove, Removal(id: change.id, actor: change.actor))
                try insert(change.row, isChanged: true, in: transaction)
            },
            delete: { removal, transaction in try transaction.perform(GrantStatements.remove, removal) },
            document: GrantStatements.document)
    }

    private static func insert(
        _ grant: Grant, isChanged: Bool, in transaction: borrowing PostgresTransaction
    ) throws {
        guard try transaction.execute(GrantStatements.lockBucket, grant.bucket.rawValue).first == true else {
            throw GatewayError.conflict(reason: "The bucket does not exist.")
        }
        if grant.prefix.isTemplate {
            let place = (grant.principal.rawValue, grant.bucket.rawValue)
            try transaction.perform(GrantStatements.shareTemplateLock, ())
            try transaction.perform(GrantStatements.lockTemplates, place)
            let count = try transaction.execute(GrantStatements.countTemplates, place).first ?? 0
            guard count < maxTemplates else {
                throw GatewayError.conflict(reason: tooManyTemplates)
            }
        }
        let conditions = String(decoding: try JSONEncoder().encode(grant.conditions), as: UTF8.self)
        try transaction.perform(GrantStatements.insert, (grant, conditions, isChanged))
    }
}
