/// A row that gives a user something.
public struct OffboardingRow: Sendable, Equatable {
    /// The kind of row: a grant that allows, a membership, an API key, a ticket that a gateway may still accept, or an
    /// unfinished multipart upload.
    public var kind: ResourceKind
    /// Identifier of the row, as the audit has it.
    public var id: String
    /// The row as JSON, as the audit has it.
    public var document: String

    /// Creates a row.
    public init(kind: ResourceKind, id: String, document: String) {
        self.kind = kind
        self.id = id
        self.document = document
    }
}

/// All rows that give a user something. Grants that deny, and quotas, only limit it, and are not among them.
public struct OffboardingRows: Sendable, Equatable {
    /// Maximum number of rows listed of each kind.
    public static let maxOfKind = 1000

    /// Number of rows of each kind; kinds without rows are absent.
    public var counts: [ResourceKind: Int64]
    /// The rows, by kind and identifier.
    public var rows: [OffboardingRow]
    /// Changes whenever a row is added, changed or removed. It consists of hexadecimal digits.
    public var tag: String

    /// Number of all rows.
    public var count: Int64 { counts.values.reduce(0, +) }

    /// Creates a list of rows.
    public init(counts: [ResourceKind: Int64], rows: [OffboardingRow], tag: String) {
        self.counts = counts
        self.rows = rows
        self.tag = tag
    }
}

/// Lists and removes all that gives a user access.
public protocol OffboardingStore: Sendable {
    /// Lists the rows that give a user something.
    ///
    /// - Throws: `slowDown`, `unavailable`.
    func rows(of user: Principal) async throws(GatewayError) -> OffboardingRows

    /// Removes these rows as one change. Once the call returns, it is in force on every gateway.
    ///
    /// Unfinished multipart uploads are closed: no gateway issues further parts of them, and the stores are asked later
    /// to discard what they hold.
    /// - Parameters:
    ///   - user: The user.
    ///   - tag: ``OffboardingRows/tag`` of the rows that the admin saw.
    ///   - change: The admin and request that remove the rows.
    /// - Returns: The number of rows removed; 0 if there were none, whatever the tag.
    /// - Throws: `preconditionFailed` if the rows are others than those seen, or if one is added meanwhile, and nothing
    ///   is removed; `slowDown`, `unavailable`.
    func remove(
        allOf user: Principal, seenAs tag: String, by change: ChangeContext
    ) async throws(GatewayError) -> Int64
}
