public import FoundationEssentials

/// A change made by an admin, as recorded in the audit log.
public struct AuditRecord: Sendable, Equatable {
    /// Identifier of the entry; a UUIDv7, so entries sort by time.
    public var id: UUID
    /// When the change was made.
    public var at: Date
    /// The admin who made the change.
    public var actor: String
    /// Identifier of the request, as it appears in logs.
    public var requestID: String
    /// The credential by which the actor came, `issuer:<iss>` or `apikey:<prefix>`; `nil` for the bootstrap key, and
    /// for the gateway itself.
    public var credential: String?
    /// The name of an ``AuditOperation``, or of one that only a newer gateway knows.
    public var operation: String
    /// The kind of row, such as `Grant`.
    public var kind: String
    /// Identifier of the row.
    public var resourceID: String
    /// JSON of the row before the change, without secrets; `nil` if there was no row.
    public var before: String?
    /// JSON of the row after the change, without secrets; `nil` if there is no row.
    public var after: String?

    /// Creates a record from its parts.
    public init(
        id: UUID, at: Date, actor: String, requestID: String, credential: String?, operation: String, kind: String,
        resourceID: String,
        before: String?, after: String?
    ) {
        self.id = id
        self.at = at
        self.actor = actor
        self.requestID = requestID
        self.credential = credential
        self.operation = operation
        self.kind = kind
        self.resourceID = resourceID
        self.before = before
        self.after = after
    }
}

/// Reads the audit log.
public protocol AuditReader: Sendable {
    /// Reads a page of changes, newest first. Filters: `actor`, `kind`, `resourceID`, `operation`, `requestID`, `from`
    /// and `to`. The last two limit the time of the change; `from` is inclusive, `to` exclusive.
    ///
    /// - Throws: `invalidArgument` for an unknown filter or an invalid token, `unavailable`.
    func changes(_ query: ListQuery) async throws(GatewayError) -> Page<AuditRecord>
}
