public import FoundationEssentials

/// Reads past issuances for a replay.
public protocol ReplaySource: Sendable {
    /// Reads some of the issuances that a change may affect: newest day first, and within a day newest identifier
    /// first.
    ///
    /// - Throws: `invalidArgument` if the token is from another replay, `slowDown`, `unavailable`.
    func issuances(_ query: ReplayQuery) async throws(GatewayError) -> LedgerPage<RecordedIssuance>

    /// Reads the template prefixes that some grants have or had, including removed grants; those of each in order.
    ///
    /// - Throws: `slowDown`, `unavailable`.
    func templates(among grants: [UUID]) async throws(GatewayError) -> [UUID: [PastTemplate]]

    /// Reads when rows put users into groups: from which change of policy on, and up to which change, which is
    /// `Int64.max` for as long as they do. Memberships that no row ever had are left out.
    ///
    /// - Throws: `slowDown`, `unavailable`.
    func memberships(
        among memberships: [PolicyProposal.Membership]
    ) async throws(GatewayError) -> [PolicyProposal.Membership: [Range<Int64>]]
}

/// A template prefix of a grant, with the changes of policy between which the grant had it.
public struct PastTemplate: Sendable, Equatable {
    /// The prefix.
    public var prefix: KeyPrefix
    /// Number of the change since which the grant has it.
    public var since: Int64
    /// Number of the change with which it ended; `nil` if the grant still has it.
    public var until: Int64?

    /// Creates an entry.
    public init(prefix: KeyPrefix, since: Int64, until: Int64?) {
        self.prefix = prefix
        self.since = since
        self.until = until
    }
}

extension [PastTemplate] {
    /// The prefix after a change of policy; `nil` if the grant had no template then. Before the first known change, it
    /// is the first prefix: a row may rest on a position from before the grant was made, by which its caller was known.
    func prefix(after sequence: Int64) -> KeyPrefix? {
        guard let last = self.last(where: { $0.since <= sequence }) else { return first?.prefix }
        if let until = last.until, until <= sequence { return nil }
        return last.prefix
    }
}

/// A filter for the issuances that a change may affect.
public struct ReplayQuery: Sendable {
    /// Identifies the replay; page tokens are valid only for the same label.
    public var label: String
    /// Start of the period, inclusive.
    public var from: Date
    /// End of the period, exclusive.
    public var to: Date
    /// Select issuances in these buckets …
    public var buckets: [BucketName]
    /// … of these callers, or of all callers if `nil`, …
    public var principals: [Principal]?
    /// … and all issuances of these principals.
    public var members: [Principal]
    /// Maximum number of rows, 1…5,000.
    public var limit: Int
    /// Token from the previous page; `nil` for the first page.
    public var pageToken: String?

    /// Creates a query.
    public init(
        label: String, from: Date, to: Date, buckets: [BucketName], principals: [Principal]?, members: [Principal],
        limit: Int, pageToken: String?
    ) {
        self.label = label
        self.from = from
        self.to = to
        self.buckets = buckets
        self.principals = principals
        self.members = members
        self.limit = limit
        self.pageToken = pageToken
    }
}
