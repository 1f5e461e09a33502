import FoundationEssentials

/// Rows behind the rules for delegated admins. It changes nothing that lies outside the authority of whoever asks for
/// the change, whichever endpoint or use case asks.
///
/// A row outside is not there; a row that may be seen but not changed, and a new state outside, are refused. The old
/// state is checked by its revision, so that no other change slips in between check and change.
struct DelegatedRows<Resource: ValidatedRow>: AdminStore {
    private let rows: any AdminStore<Resource>

    /// Number of attempts to remove a row that others keep changing.
    private static var attempts: Int { 5 }

    /// Puts the rules before a store.
    init(_ rows: any AdminStore<Resource>) {
        self.rows = rows
    }

    /// Adds a row that lies inside.
    func create(
        _ resource: Validated<Resource>, by change: ChangeContext
    ) async throws(GatewayError) -> Stored<Resource> {
        try check(resource.row, change)
        return try await rows.create(resource, by: change)
    }

    /// Reads a row, wherever it lies. Where an admin asks, use ``AdminStore/get(_:within:)``.
    func get(_ id: String) async throws(GatewayError) -> Stored<Resource> {
        try await rows.get(id)
    }

    /// Reads a page of the rows that the query reaches.
    func list(_ query: ListQuery) async throws(GatewayError) -> Page<Resource> {
        try await rows.list(query)
    }

    /// Replaces a row if both states lie inside.
    func update(
        _ resource: Validated<Resource>, from revision: UUID, by change: ChangeContext
    ) async throws(GatewayError) -> Stored<Resource> {
        guard change.authority != .unlimited else {
            return try await rows.update(resource, from: revision, by: change)
        }
        let old = try await get(resource.row.identifier, within: change.authority.sees)
        try check(old.row, change)
        try check(resource.row, change)
        guard old.revision == revision else { throw .preconditionFailed }
        return try await rows.update(resource, from: revision, by: change)
    }

    /// Removes a row that lies inside.
    func delete(_ id: String, revision: UUID?, by change: ChangeContext) async throws(GatewayError) {
        guard change.authority != .unlimited else {
            return try await rows.delete(id, revision: revision, by: change)
        }
        for attempt in 1...Self.attempts {
            let old = try await get(id, within: change.authority.sees)
            try check(old.row, change)
            do throws(GatewayError) {
                return try await rows.delete(id, revision: revision ?? old.revision, by: change)
            } catch {
                guard case .preconditionFailed = error, revision == nil, attempt < Self.attempts else { throw error }
            }
        }
    }

    private func check(_ row: Resource, _ change: ChangeContext) throws(GatewayError) {
        guard row.isChangeable(within: change.authority.changes) else { throw .outsideAdminScope }
    }
}

extension AdminStore {
    /// Reads a row for an admin. A row outside the reach does not exist.
    ///
    /// - Throws: `notFound`, `unavailable`.
    public func get(_ id: String, within reach: AdminReach) async throws(GatewayError) -> Stored<Resource> {
        let stored = try await get(id)
        guard stored.row.isVisible(within: reach) else { throw .notFound(Resource.kind) }
        return stored
    }
}
