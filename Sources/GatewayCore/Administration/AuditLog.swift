/// Records actions of admins other than changes of rows.
public protocol AuditLog: Sendable {
    /// Adds an audit entry. The action itself must not happen before this returns.
    ///
    /// - Throws: `unavailable`.
    func note(_ act: AuditedAct, by change: ChangeContext) async throws(GatewayError)
}

/// An action that an admin makes the gateway perform.
public struct AuditedAct: Sendable, Equatable {
    /// The kinds of audited actions.
    public enum Operation: String, Sendable {
        /// A bucket is tested against its store.
        case validate
        /// A secret is replaced by another.
        case rotate
        /// Something is removed.
        case delete
    }

    /// The kind of action.
    public var operation: Operation
    /// The kind of row that the action concerns.
    public var kind: ResourceKind
    /// The identifier of that row.
    public var identifier: String
    /// Additional details by name; never secrets.
    public var details: [String: String]

    /// Creates an audit entry.
    public init(_ operation: Operation, _ kind: ResourceKind, _ identifier: String, details: [String: String]) {
        self.operation = operation
        self.kind = kind
        self.identifier = identifier
        self.details = details
    }
}
