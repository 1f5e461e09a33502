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

    /// Describes the list of lines. A membership is asked for in the form of ``GroupMember/shown(_:)``, where the first
    /// or the last `/user:` begins the member.
    static let listing = PagedList(
        name: "Audit",
        filters: [
            .text("actor", is: "a.actor"), .text("kind", is: "a.kind"),
            .text("resourceID") {
                """
                a.resource_id IN (
                    \($0), regexp_replace(\($0), '/user:', chr(31) || 'user:'),
                    regexp_replace(\($0), '^(.*)/user:', '\\1' || chr(31) || 'user:'))
                """
            },
            .text("operation", is: "a.operation"), .text("requestID", is: "a.request_id"),
            .instant("from") { "a.at >= \($0) AND a.id >= \(leastID("\($0) - interval '1 hour'"))" },
            .instant("to") { "a.at < \($0) AND a.id < \(leastID("\($0) + interval '1 hour'"))" },
        ],
        order: [.uuid("a.id")], isDescending: true, isNarrowed: true)

    /// The least identifier of an instant: identifiers begin with the milliseconds. The clocks of gateways, which make
    /// them, and of the database differ by far less than an hour.
    private static func leastID(_ instant: String) -> String {
        "rpad(lpad(to_hex(greatest(extract(epoch FROM \(instant)) * 1000, 0)::bigint), 12, '0'), 32, '0')::uuid"
    }

    /// The condition that a document of a grant lies inside, or that there is none.
    private static func isInside(_ document: String) -> String {
        "\(document) IS NULL OR "
            + ReachCondition.holds(
                listing.reach, bucket: "\(document) ->> 'bucket'", place: "\(document) ->> 'prefix'",
                principals: "\(document) ->> 'principal'")
    }

    /// The operations on single rows, as a list in SQL.
    private static let onSingleRows = [AuditOperation.create, .update, .delete].map { "'\($0.rawValue)'" }
        .joined(separator: ", ")

    /// Reads a page of lines, newest first. Of a limited reach are the changes of single grants that lay inside before
    /// and after.
    static let page = Statement<PageRequest, AuditRecord>(
        """
        SELECT \(columns.selected(of: "a")) FROM admin_audit a
        WHERE \(listing.isListed)
            AND (\(listing.reach)::text IS NULL OR (a.kind = 'Grant' AND a.operation IN (\(onSingleRows))
                AND num_nonnulls(a.before, a.after) > 0 AND (\(isInside("a.before"))) AND (\(isInside("a.after")))))
            AND (\(listing.onlyPrincipals)::text[] IS NULL OR a.kind = 'Grant'
                AND coalesce(a.after, a.before) ->> 'principal' = ANY (\(listing.onlyPrincipals)::text[]))
        ORDER BY \(listing.sorting) LIMIT \(listing.limit)
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
