import FoundationEssentials
import GatewayCore
import LibPQ

/// A line of the audit.
struct AuditEntry: Sendable {
    var id: UUID
    var operation: AuditOperation
    var kind: ResourceKind
    var resourceID: String
    var actor: String
    var requestID: String
    /// The credential by which the actor came; `nil` for the bootstrap key.
    var credential: String?
    /// JSON of the row before and after the change, without secrets; `nil` if the row did not exist then.
    var before: String?
    var after: String?
}

/// The table `admin_audit`.
enum AuditTable {
    /// The columns, in the order in which ``AuditRecord/init(_:)`` reads them.
    static let columns = Columns<AuditEntry>(
        Column("id") { $0.id },
        Column("at"),
        Column("actor") { $0.actor },
        Column("request_id") { $0.requestID },
        Column("credential") { $0.credential },
        Column("operation") { $0.operation.rawValue },
        Column("kind") { $0.kind.rawValue },
        Column("resource_id") { $0.resourceID },
        Column("before", .json) { $0.before },
        Column("after", .json) { $0.after })

    static let insert = columns.insert(into: "admin_audit")

    /// Records an act of an admin that changes no row.
    static let note = Statement<(id: UUID, act: AuditedAct, change: ChangeContext), UUID>(
        """
        INSERT INTO admin_audit (id, actor, request_id, credential, operation, kind, resource_id, after)
        VALUES ($1, $2, $3, $4, $5, $6, $7, jsonb_object($8::text[], $9::text[]))
        RETURNING id
        """
    ) {
        let details = $0.act.details.sorted { $0.key < $1.key }
        return [
            $0.id, $0.change.actor.rawValue, $0.change.requestID, $0.change.credential?.rawValue,
            $0.act.operation.rawValue, $0.act.kind.rawValue, $0.act.identifier, details.map(\.key),
            details.map(\.value),
        ]
    }

    static let listing = PagedList(
        name: "Audit",
        filters: [
            .text("actor"), .text("kind"), .text("resourceID"), .text("operation"), .text("requestID"),
            .instant("from"), .instant("to"),
        ],
        order: [.uuid("id")], isNarrowed: true)

    /// The least identifier of an instant: identifiers begin with the milliseconds. The clocks of gateways, which make
    /// them, and of the database differ by far less than an hour.
    private static func leastID(_ instant: String) -> String {
        "rpad(lpad(to_hex(greatest(extract(epoch FROM \(instant)) * 1000, 0)::bigint), 12, '0'), 32, '0')::uuid"
    }

    /// The condition that a document of a grant lies inside, or that there is none.
    private static func isInside(_ document: String) -> String {
        "\(document) IS NULL OR "
            + ReachCondition.holds(
                "$10", bucket: "\(document) ->> 'bucket'", place: "\(document) ->> 'prefix'",
                principals: "\(document) ->> 'principal'")
    }

    /// The operations on single rows, as a list in SQL.
    private static let onSingleRows = [AuditOperation.create, .update, .delete].map { "'\($0.rawValue)'" }
        .joined(separator: ", ")

    /// Reads a page of lines, newest first. A membership is asked for in the form of ``GroupMember/shown(_:)``, where
    /// the first or the last `/user:` begins the member. Of a limited reach are the changes of single grants that lay
    /// inside before and after.
    static let page = Statement<PageRequest, AuditRecord>(
        """
        SELECT \(columns.selected(of: "a")) FROM admin_audit a
        WHERE ($1::text IS NULL OR a.actor = $1) AND ($2::text IS NULL OR a.kind = $2)
            AND ($3::text IS NULL OR a.resource_id IN (
                $3, regexp_replace($3, '/user:', chr(31) || 'user:'),
                regexp_replace($3, '^(.*)/user:', '\\1' || chr(31) || 'user:')))
            AND ($4::text IS NULL OR a.operation = $4)
            AND ($5::text IS NULL OR a.request_id = $5)
            AND ($6::text IS NULL
                OR a.at >= $6::text::timestamptz AND a.id >= \(leastID("$6::text::timestamptz - interval '1 hour'")))
            AND ($7::text IS NULL
                OR a.at < $7::text::timestamptz AND a.id < \(leastID("$7::text::timestamptz + interval '1 hour'")))
            AND ($8::text IS NULL OR a.id < $8::text::uuid)
            AND ($10::text IS NULL OR (a.kind = 'Grant' AND a.operation IN (\(onSingleRows))
                AND num_nonnulls(a.before, a.after) > 0 AND (\(isInside("a.before"))) AND (\(isInside("a.after")))))
            AND ($11::text[] IS NULL OR a.kind = 'Grant' AND coalesce(a.after, a.before) ->> 'principal' = ANY ($11::text[]))
        ORDER BY a.id DESC LIMIT $9
        """, onlyReads: true
    ) {
        $0.narrowedParameters + [$0.onlyPrincipals]
    }
}

extension AuditRecord: RowReadable {
    /// Reads the columns of ``AuditTable``.
    init(_ row: inout PostgresRow) throws(PostgresError) {
        self.init(
            id: try row.next(), at: try row.next(), actor: try row.next(), requestID: try row.next(),
            credential: try row.next(), operation: try row.next(), kind: try row.next(), resourceID: try row.next(),
            before: try row.next(),
            after: try row.next())
    }
}
