/// Writes down what admins did besides changing rows.
public protocol AuditLog: Sendable {
    /// Adds a line; what it is about is not to be done before this returns.
    ///
    /// - Throws: `unavailable`.
    func note(_ act: AuditedAct, by change: ChangeContext) async throws(GatewayError)
}

/// Something that an admin has the gateway do.
public struct AuditedAct: Sendable, Equatable {
    /// What is done.
    public enum Operation: String, Sendable {
        /// A bucket is tried out at its store.
        case validate
        /// A secret is put in the place of another.
        case rotate
        /// Something is removed.
        case delete
    }

    /// What is done.
    public var operation: Operation
    /// The kind of row that it is done with.
    public var kind: ResourceKind
    /// Which row.
    public var identifier: String
    /// What else is to be known, by name; no secrets.
    public var details: [String: String]

    /// Describes an act.
    public init(_ operation: Operation, _ kind: ResourceKind, _ identifier: String, details: [String: String]) {
        self.operation = operation
        self.kind = kind
        self.identifier = identifier
        self.details = details
    }
}
