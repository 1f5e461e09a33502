/// Reads and changes many grants at once.
///
/// A change is one transaction, whatever the number of grants. It writes one audit row per grant and one entry in the
/// policy log. Once answered, the whole change is in force on every gateway; if it fails, no part of it ever is.
public protocol GrantBulkStore: Sendable {
    /// Writes and removes grants. Each grant named must lie inside what the change may see, or it does not exist; its
    /// old state must lie inside what it may change. ``GrantBatches`` has checked the new one.
    ///
    /// - Throws: `itemsRefused`, `conflict`, `slowDown`, `unavailable`. If it throws, nothing was changed.
    func apply(_ batch: GrantBatch, by change: ChangeContext) async throws(GatewayError) -> GrantBatchResult

    /// Opens a reader of all grants inside that match the filters, in list order and as of one instant.
    ///
    /// - Throws: `invalidArgument` for an unknown filter, `slowDown`, `unavailable`.
    func export(_ filters: [String: String], within reach: AdminReach) async throws(GatewayError) -> GrantReader

    /// Changes grants to match imported lines, for an admin without limits.
    ///
    /// - Parameters:
    ///   - options: The grants that the import may change, and how.
    ///   - change: The admin and request that import.
    ///   - renew: Authenticates the admin again. It is called after the last line, and whenever the credential may have
    ///     been changed before the commit.
    ///   - nextLines: Returns the next lines in order; `nil` after the last. An error that it throws ends the import.
    /// - Throws: The errors of `renew` and `nextLines`, and those of ``apply(_:by:)``. If it throws, nothing was
    ///   changed.
    func importGrants(
        _ options: GrantImportOptions, by change: ChangeContext,
        renewing renew: @Sendable () async throws(GatewayError) -> ChangeContext,
        _ nextLines: @Sendable () async throws -> [ProposedGrant]?
    ) async throws -> GrantImportResult
}

/// Reads grants page by page.
public struct GrantReader: Sendable {
    /// Returns the next grants; an empty array after the last.
    public let next: @Sendable () async throws(GatewayError) -> [Grant]

    /// Creates a reader from a function.
    public init(next: @escaping @Sendable () async throws(GatewayError) -> [Grant]) {
        self.next = next
    }
}
