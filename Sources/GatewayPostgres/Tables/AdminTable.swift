import FoundationEssentials
import GatewayCore
import LibPQ

/// Describes how resources of one kind are stored: its statements and whatever else differs between kinds.
struct AdminTable<Resource: ManagedRow>: Sendable {
    /// The kind of resource.
    let kind: ResourceKind
    /// The list of its rows.
    let listing: PagedList
    /// Returns a row's values for ``PagedList/order``.
    let position: @Sendable (Resource) -> [String]
    /// Returns the identifier of a row.
    let identifier: @Sendable (Resource) -> String
    /// Tests whether a text can be an identifier. Only such texts are sent to the database.
    let isIdentifier: @Sendable (String) -> Bool
    /// The reason to report if a foreign key refuses a change.
    let referenceConflict: String

    /// Checks a new row against existing ones and inserts it.
    let insert: @Sendable (Resource, borrowing PostgresTransaction) throws -> Void
    /// Reads a row by its identifier.
    let read: Statement<String, Stored<Resource>>
    /// Reads rows in order.
    let page: Statement<PageRequest, Resource>
    /// Locks a row that others may refer to or change.
    let lockRow: Statement<String, LockedRow>
    /// Checks a new state against other rows and overwrites the locked row. Some kinds of rows never change.
    var update: @Sendable (RowUpdate<Resource>, borrowing PostgresTransaction) throws -> Void = { _, _ in
        throw GatewayError.conflict(reason: "A row of this kind cannot change; delete and create it instead.")
    }
    /// Checks whether a locked row may be removed, and removes it.
    let delete: @Sendable (Removal, borrowing PostgresTransaction) throws -> Void
    /// Reads a row's document for the audit; see ``AdminStatements/document(_:from:)``.
    let document: Statement<String, String>
    /// Finds the identifier of another row that says the same, for kinds of which no two rows may.
    var twin: Statement<Resource, String>?
    /// Reads rows that pass one more filter, which ``page`` reads too slowly.
    var narrowPage: (filter: String, statement: Statement<PageRequest, Resource>)?
    /// Returns the statement that reads rows inside a reach, in order, for kinds whose ``listing`` is narrowed.
    var pageWithin: (@Sendable (AdminReach) -> Statement<PageRequest, Resource>)?
    /// Whether creating a row is a change of policy that decisions may rest on. Such a change has a line in the policy
    /// log and one in the audit.
    var isLoggedWhenCreated = true
    /// Returns the members, as requests name them, whose secrets differ between two states of a row. Documents show no
    /// secrets, so the audit names these. `nil` for kinds whose rows hold no secrets that can change.
    var changedSecrets: (@Sendable (_ old: Resource, _ new: Resource) -> [String])?

    /// Locks a row.
    ///
    /// - Parameter revision: The revision that the row must have; `nil` accepts any.
    func lock(
        _ id: String, of revision: UUID? = nil, in transaction: borrowing PostgresTransaction
    ) throws -> LockedRow {
        for _ in 0..<Self.mostReplacements {
            if let locked = try transaction.execute(lockRow, id).first {
                guard revision == nil || revision == locked.revision else { throw GatewayError.preconditionFailed }
                return locked
            }
            // If another transaction replaced the version waited for, the statement finds neither version. The next one
            // finds the new version, unless that is replaced too.
            guard try transaction.execute(document, id).first != nil else { throw GatewayError.notFound(kind) }
        }
        throw GatewayError.slowDown(retryAfter: 1, cause: "the row is replaced again and again")
    }

    /// How many versions of a row are waited for.
    private static var mostReplacements: Int { 10 }

    /// Tests whether a text is a UUID in lower case, the form used in answers and in the audit.
    @Sendable static func isLowerCaseUUID(_ text: String) -> Bool {
        UUID(uuidString: text)?.uuidString.lowercased() == text
    }
}

/// A new state of a row, with the admin who sets it.
struct RowUpdate<Resource: Sendable>: Sendable {
    var id: String
    var row: Resource
    /// The members whose secrets differ from those of the old state; see ``AdminTable/changedSecrets``.
    var changedSecrets: [String]
    var actor: String
}

/// The row to remove, with the admin who removes it.
struct Removal: Sendable {
    var id: String
    var actor: String
    /// The revision that the row must have; `nil` accepts any. Only rows without a lock can still have another.
    var revision: UUID?
}
