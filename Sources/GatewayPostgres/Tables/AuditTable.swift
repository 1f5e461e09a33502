import FoundationEssentials
import GatewayCore
import LibPQ

/// A line of the audit.
struct AuditEntry: Sendable {
    /// The kind of change.
    enum Operation: String, Sendable {
        case create
        case update
        case delete
        case reset
    }

    var id: UUID
    var operation: Operation
    var kind: ResourceKind
    var resourceID: String
    var actor: String
    var requestID: String
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
        Column("operation") { $0.operation.rawValue },
        Column("kind") { $0.kind.rawValue },
        Column("resource_id") { $0.resourceID },
        Column("before", .json) { $0.before },
        Column("after", .json) { $0.after })

    static let insert = columns.insert(into: "admin_audit")

    /// Records an act of an admin that changes no row.
    static let note = Statement<(id: UUID, act: AuditedAct, change: ChangeContext), UUID>(
        """
        INSERT INTO admin_audit (id, actor, request_id, operation, kind, resource_id, after)
        VALUES ($1, $2, $3, $4, $5, $6, jsonb_object($7::text[], $8::text[]))
        RETURNING id
        """
    ) {
        let details = $0.act.details.sorted { $0.key < $1.key }
        return [
            $0.id, $0.change.actor.rawValue, $0.change.requestID, $0.act.operation.rawValue, $0.act.kind.rawValue,
            $0.act.identifier, details.map(\.key), details.map(\.value),
        ]
    } decode: { row throws(PostgresError) in
        try row.next()
    }

    static let listing = Listing(
        name: "Audit",
        filters: [
            .text("actor"), .text("kind"), .text("resourceID"), .text("operation"), .text("requestId"),
            .instant("from"), .instant("to"),
        ],
        order: [.uuid("id")])

    /// Reads a page of lines, newest first.
    static let page = Statement<PageRequest, AuditRecord>(
        """
        SELECT \(columns.selected(of: "a")) FROM admin_audit a
        WHERE ($1::text IS NULL OR a.actor = $1) AND ($2::text IS NULL OR a.kind = $2)
            AND ($3::text IS NULL OR a.resource_id = $3) AND ($4::text IS NULL OR a.operation = $4)
            AND ($5::text IS NULL OR a.request_id = $5) AND ($6::text IS NULL OR a.at >= $6::text::timestamptz)
            AND ($7::text IS NULL OR a.at < $7::text::timestamptz) AND ($8::text IS NULL OR a.id < $8::text::uuid)
        ORDER BY a.id DESC LIMIT $9
        """, onlyReads: true
    ) {
        $0.parameters
    } decode: { row throws(PostgresError) in
        try AuditRecord(&row)
    }
}

extension AuditRecord {
    /// Reads the columns of ``AuditTable``.
    fileprivate init(_ row: inout PostgresRow) throws(PostgresError) {
        self.init(
            id: try row.next(), at: try row.next(), actor: try row.next(), requestID: try row.next(),
            operation: try row.next(), kind: try row.next(), resourceID: try row.next(), before: try row.next(),
            after: try row.next())
    }
}
