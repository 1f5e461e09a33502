/// What an admin did, as a line of the audit names it.
public enum AuditOperation: String, Sendable, CaseIterable {
    /// A row is added.
    case create
    /// A row is changed.
    case update
    /// A row is removed, or several that belong to one.
    case delete
    /// The counters of a quota are set to zero.
    case reset
    /// Grants are written from a file.
    case `import`
    /// A bucket is tested against its store, or an issuer by its documents.
    case validate
    /// A secret is replaced by another.
    case rotate
}
