/// Records actions of admins other than changes of rows.
public protocol AuditLog: Sendable {
    /// Adds an audit entry. The action itself must not happen before this returns.
    ///
    /// - Throws: `unavailable`.
    func note(_ act: AuditedAct, by change: ChangeContext) async throws(GatewayError)
}

/// An action that an admin makes the gateway perform.
public struct AuditedAct: Sendable, Equatable {
    /// The kind of action.
    public var operation: AuditOperation
    /// The kind of row that the action concerns.
    public var kind: ResourceKind
    /// The identifier of that row.
    public var identifier: String
    /// Additional details by name; never secrets.
    public var details: [String: String]

    /// Creates an audit entry.
    public init(_ operation: AuditOperation, _ kind: ResourceKind, _ identifier: String, details: [String: String]) {
        self.operation = operation
        self.kind = kind
        self.identifier = identifier
        self.details = details
    }
}
