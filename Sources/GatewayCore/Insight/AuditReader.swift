public import Foundation

/// A change that an admin made, as the audit keeps it.
public struct AuditRecord: Sendable, Equatable {
    /// Identifier of the line; a UUIDv7, so that lines are in the order of time.
    public var id: UUID
    /// When.
    public var at: Date
    /// Who.
    public var actor: String
    /// Identifier of the request, as in logs.
    public var requestID: String
    /// What happened: `create`, `update`, `delete`, `reset` or `import`.
    public var operation: String
    /// The kind of row, for example `Grant`.
    public var kind: String
    /// Identifier of the row.
    public var resourceID: String
    /// JSON of the row before, without secrets; `nil` where there was none.
    public var before: String?
    /// JSON of the row after, without secrets; `nil` where there is none.
    public var after: String?

    /// Puts a record together.
    public init(
        id: UUID, at: Date, actor: String, requestID: String, operation: String, kind: String, resourceID: String,
        before: String?, after: String?
    ) {
        self.id = id
        self.at = at
        self.actor = actor
        self.requestID = requestID
        self.operation = operation
        self.kind = kind
        self.resourceID = resourceID
        self.before = before
        self.after = after
    }
}

/// Reads the audit.
public protocol AuditReader: Sendable {
    /// Reads a page of changes, the newest first. Filters: `actor`, `kind`, `resourceID`, `operation`, `requestID`, `from` and
    /// `until`, the latter two times between which it happened, the first included.
    ///
    /// - Throws: `invalidArgument` for a filter or token that is not ours, `unavailable`.
    func changes(_ query: ListQuery) async throws(GatewayError) -> Page<AuditRecord>
}
