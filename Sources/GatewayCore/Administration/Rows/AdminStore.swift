public import FoundationEssentials

/// Rows of one kind that admins manage. Every change is one transaction with its audit row and its entry in the policy
/// log. Once the call returns, the change is in force on every gateway.
public protocol AdminStore<Resource>: Sendable {
    /// The kind of row that the store manages.
    associatedtype Resource: ValidatedRow

    /// Adds a row; the result includes the values that the store sets itself, such as times.
    ///
    /// - Throws: `alreadyExists`, `conflict` if the row refers to something that does not exist, `unavailable`.
    func create(
        _ resource: Validated<Resource>, by change: ChangeContext
    ) async throws(GatewayError) -> Stored<Resource>

    /// Reads a row by its identifier: a UUID in lower case, a bucket name, or ``GroupMember/identifier``.
    ///
    /// - Throws: `notFound`, `unavailable`.
    func get(_ id: String) async throws(GatewayError) -> Stored<Resource>

    /// Reads a page of rows, in a stable order.
    ///
    /// - Throws: `invalidArgument` for an unknown filter or an invalid token, `unavailable`.
    func list(_ query: ListQuery) async throws(GatewayError) -> Page<Resource>

    /// Replaces the row with the same identifier, if it still has the given revision.
    ///
    /// - Throws: `notFound`, `preconditionFailed` if the revision differs, `alreadyExists` if another row has the same
    ///   unique name, `conflict`, `unavailable`.
    func update(
        _ resource: Validated<Resource>, from revision: UUID, by change: ChangeContext
    ) async throws(GatewayError) -> Stored<Resource>

    /// Removes a row. If a revision is given, the row must still have it.
    ///
    /// - Throws: `notFound`, `preconditionFailed`, `conflict` if another row still refers to this one, `unavailable`.
    func delete(_ id: String, revision: UUID?, by change: ChangeContext) async throws(GatewayError)
}

extension AdminStore {
    /// Removes a row, whatever its revision.
    ///
    /// - Throws: `notFound`, `conflict` if another row still refers to this one, `unavailable`.
    public func delete(_ id: String, by change: ChangeContext) async throws(GatewayError) {
        try await delete(id, revision: nil, by: change)
    }
}
