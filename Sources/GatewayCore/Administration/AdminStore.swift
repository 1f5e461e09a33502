public import Foundation

/// Rows of one kind that admins manage. Every change is one transaction with its audit row and its line in the policy log,
/// and is in force on every gateway once it returns.
public protocol AdminStore<Resource>: Sendable {
    /// The kind of row.
    associatedtype Resource: Sendable

    /// Adds a row; what the store sets itself (times) is in the answer.
    ///
    /// - Throws: `alreadyExists`, `conflict` (it refers to something that does not exist), `unavailable`.
    func create(_ resource: Resource, by change: ChangeContext) async throws(GatewayError) -> Stored<Resource>

    /// Reads a row by its identifier: a UUID in lower case, a bucket's name, or ``GroupMember/identifier``.
    ///
    /// - Throws: `notFound`, `unavailable`.
    func get(_ id: String) async throws(GatewayError) -> Stored<Resource>

    /// Reads a page of rows, in a stable order.
    ///
    /// - Throws: `invalidArgument` for a filter or token that is not ours, `unavailable`.
    func list(_ query: ListQuery) async throws(GatewayError) -> Page<Resource>

    /// Puts a row in the place of the one with its identifier, if that is still of a revision.
    ///
    /// - Throws: `notFound`, `preconditionFailed` (it is of another revision), `alreadyExists` (another row has a name that
    ///   must be unique), `conflict`, `unavailable`.
    func update(
        _ resource: Resource, from revision: UUID, by change: ChangeContext
    ) async throws(GatewayError) -> Stored<Resource>

    /// Removes a row, if it is of a revision where one is named.
    ///
    /// - Throws: `notFound`, `preconditionFailed`, `conflict` (something still refers to it), `unavailable`.
    func delete(_ id: String, revision: UUID?, by change: ChangeContext) async throws(GatewayError)
}

extension AdminStore {
    /// Removes a row, of whatever revision.
    ///
    /// - Throws: `notFound`, `conflict` (something still refers to it), `unavailable`.
    public func delete(_ id: String, by change: ChangeContext) async throws(GatewayError) {
        try await delete(id, revision: nil, by: change)
    }
}

/// A row as it is kept, with the revision that changes whenever the row does.
@dynamicMemberLookup
public struct Stored<Row: Sendable>: Sendable {
    /// The row.
    public var row: Row
    /// Names this state of the row and no other, not even of a later row with the same identifier.
    public var revision: UUID

    /// Puts both together.
    public init(row: Row, revision: UUID) {
        self.row = row
        self.revision = revision
    }

    /// Reads a member of the row.
    public subscript<Value>(dynamicMember path: KeyPath<Row, Value>) -> Value {
        row[keyPath: path]
    }
}

extension Stored: Equatable where Row: Equatable {}
