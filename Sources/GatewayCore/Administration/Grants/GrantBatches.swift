/// Changes and reads many grants at once, as far as an admin's authority reaches.
public struct GrantBatches: Sendable {
    private let store: any GrantBulkStore

    /// Creates the use case on a store.
    public init(store: any GrantBulkStore) {
        self.store = store
    }

    /// Writes and removes grants, all or none. Each grant to write must lie inside what the admin may change.
    ///
    /// - Throws: The errors of ``GrantBulkStore/apply(_:by:)``. If it throws, nothing was changed.
    public func apply(_ batch: GrantBatch, by change: ChangeContext) async throws(GatewayError) -> GrantBatchResult {
        try batch.check(within: change.authority.changes)
        return try await store.apply(batch, by: change)
    }

    /// Opens a reader of all grants inside a reach that match the filters.
    ///
    /// - Throws: The errors of ``GrantBulkStore/export(_:within:)``.
    public func export(
        _ filters: [String: String], within reach: AdminReach
    ) async throws(GatewayError) -> GrantReader {
        try await store.export(filters, within: reach)
    }

    /// Changes grants to match imported lines. Delegated admins import nothing: an import may remove what it does not
    /// name.
    ///
    /// - Parameters:
    ///   - options: The grants that the import may change, and how.
    ///   - change: The admin and request that import.
    ///   - renew: Authenticates the admin again. The lines may arrive for hours, and the admin's key may have been
    ///     removed meanwhile. An error that it throws ends the import.
    ///   - nextLines: Returns the next lines in order; `nil` after the last. An error that it throws ends the import.
    /// - Throws: `outsideAdminScope` for a delegated admin, and the errors of
    ///   ``GrantBulkStore/importGrants(_:by:renewing:_:)``. If it throws, nothing was changed.
    public func importGrants(
        _ options: GrantImportOptions, by change: ChangeContext,
        renewing renew: @Sendable () async throws(GatewayError) -> ChangeContext,
        _ nextLines: @Sendable () async throws -> [ProposedGrant]?
    ) async throws -> GrantImportResult {
        try change.authority.changes.requireAll()
        return try await store.importGrants(
            options, by: change,
            renewing: { () async throws(GatewayError) in
                let change = try await renew()
                try change.authority.changes.requireAll()
                return change
            }, nextLines)
    }
}
