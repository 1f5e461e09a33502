import Foundation
import GatewayCore
import LibPQ

/// How rows of one kind are kept: the statements, and the parts in which the kinds differ.
struct AdminTable<Resource: Sendable>: Sendable {
    /// The kind of row.
    let kind: ResourceKind
    /// The list of its rows.
    let listing: Listing
    /// Values of a row for ``Listing/order``.
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

    /// Whether a text is a UUID in the one form that stands in answers and in the audit.
    @Sendable static func isLowerCaseUUID(_ text: String) -> Bool {
        UUID(uuidString: text)?.uuidString.lowercased() == text
    }
}

/// A row to be written over another, and who says so.
struct RowUpdate<Resource: Sendable>: Sendable {
    var id: String
    var row: Resource
    var actor: String
}

/// Which row goes, and who says so.
struct Removal: Sendable {
    var id: String
    var actor: String
}
