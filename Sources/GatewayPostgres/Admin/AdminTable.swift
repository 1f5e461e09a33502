import Foundation
import GatewayCore
import LibPQ

/// How rows of one kind are kept: the statements, and the parts in which the kinds differ.
struct AdminTable<Resource: Sendable>: Sendable {
    /// The kind of row.
    let kind: ResourceKind
    /// Filters of lists, in the order of the page statement's first parameters.
    let filters: [AdminColumn]
    /// What lists are ordered by, in the order of the parameters after those of the filters.
    let order: [AdminColumn]
    /// Values of a row for ``order``.
    let position: @Sendable (Resource) -> [String]
    /// The identifier of a row.
    let identifier: @Sendable (Resource) -> String
    /// Whether a text can be an identifier, so that it may be sent.
    let isIdentifier: @Sendable (String) -> Bool
    /// What to say where a foreign key refuses a change.
    let referenceConflict: String

    /// Checks what a row contradicts and inserts it.
    let insert: @Sendable (Resource, borrowing PostgresTransaction) throws -> Void
    /// Reads a row by its identifier.
    let read: Statement<String, Stored<Resource>>
    /// Reads rows in order.
    let page: Statement<PageRequest, Resource>
    /// Locks a row that somebody may refer to or change.
    let lockRow: Statement<String, LockedRow>
    /// Checks what a row contradicts and writes it over the one that is locked; some kinds of rows never change.
    var update: @Sendable (RowUpdate<Resource>, borrowing PostgresTransaction) throws -> Void = { _, _ in
        throw GatewayError.conflict(reason: "Such a row is there or not; it does not change.")
    }
    /// Checks whether a row that is locked can go, and removes it.
    let delete: @Sendable (Removal, borrowing PostgresTransaction) throws -> Void
    /// What the audit holds of a row; see ``AdminStatements/document(_:from:)``.
    let document: Statement<String, String>
    /// Whether a new row is a change of policy that decisions may rest on, with its lines in the log and the audit.
    var isLoggedWhenCreated = true

    /// Locks a row.
    ///
    /// - Parameter revision: The one it must be of; any where `nil`.
    func lock(
        _ id: String, of revision: UUID? = nil, in transaction: borrowing PostgresTransaction
    ) throws -> LockedRow {
        var locked = try transaction.execute(lockRow, id).first
        // Who waited for somebody that put another version in its place finds neither; a second look finds the new one.
        if locked == nil { locked = try transaction.execute(lockRow, id).first }
        guard let locked else { throw GatewayError.notFound(kind) }
        guard revision == nil || revision == locked.revision else { throw GatewayError.preconditionFailed }
        return locked
    }
}

/// A row to be written over another, and who says so.
struct RowUpdate<Resource: Sendable>: Sendable {
    var id: String
    var row: Resource
    var actor: String
}

/// A column that lists are narrowed or ordered by.
enum AdminColumn: Sendable {
    case text(String)
    case uuid(String)
    case instant(String)

    /// The name in queries.
    var name: String {
        switch self {
        case .text(let name), .uuid(let name), .instant(let name): name
        }
    }

    /// Whether a value can be compared with the column.
    func takes(_ value: String) -> Bool {
        switch self {
        case .text: !value.utf8.contains(0)
        case .uuid: UUID(uuidString: value) != nil
        case .instant: Self.isInstant(value)
        }
    }

    private static func isInstant(_ text: String) -> Bool {
        [Date.ISO8601FormatStyle(), Date.ISO8601FormatStyle(includingFractionalSeconds: true)].contains { style in
            (try? Date(text, strategy: style)) != nil
        }
    }

    /// Whether a text is a UUID in the one form that stands in answers and in the audit.
    @Sendable static func isLowerCaseUUID(_ text: String) -> Bool {
        UUID(uuidString: text)?.uuidString.lowercased() == text
    }
}

/// Parameters of a page: filters, then where the last page ended, then how many rows.
struct PageRequest: Sendable {
    var filters: [String?]
    var after: [String?]
    var limit: Int64

    /// In the order of ``AdminTable/filters`` and ``AdminTable/order``.
    var parameters: [any PostgresValue] {
        filters.map { $0 as any PostgresValue } + after.map { $0 as any PostgresValue } + [limit]
    }
}

/// Which row goes, and who says so.
struct Removal: Sendable {
    var id: String
    var actor: String
}

extension AdminTable {
    /// The values of filters, in the order of the statement.
    func filterValues(_ values: [String: String]) throws(GatewayError) -> [String?] {
        for (name, value) in values {
            guard let filter = filters.first(where: { $0.name == name }) else {
                throw .invalidArgument(field: name, reason: "There is no such filter.")
            }
            guard filter.takes(value) else {
                throw .invalidArgument(field: name, reason: "No row can have this value.")
            }
        }
        return filters.map { values[$0.name] }
    }

    /// Where a page begins.
    func cursor(_ query: ListQuery) throws(GatewayError) -> [String?] {
        guard let text = query.pageToken else { return order.map { _ in nil } }
        let parts = try PageToken(of: kind, filters: query.filters).values(in: text, count: order.count)
        guard zip(order, parts).allSatisfy({ $0.takes($1) }) else { throw PageToken.foreign }
        return parts
    }

    /// Where the page after a row begins.
    func pageToken(after resource: Resource, of query: ListQuery) -> String {
        PageToken(of: kind, filters: query.filters).text(after: position(resource))
    }
}
