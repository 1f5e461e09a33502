public import Foundation

/// Reads what was issued, to ask for it again.
public protocol ReplaySource: Sendable {
    /// Reads some issuances that a change may bear on: the newest day first, and within a day the newest identifier.
    ///
    /// - Throws: `invalidArgument` for a token of another replay, `slowDown`, `unavailable`.
    func issuances(_ query: ReplayQuery) async throws(GatewayError) -> LedgerPage<RecordedIssuance>

    /// Reads the templates among some grants, those that were removed too; the first version of each.
    ///
    /// - Throws: `slowDown`, `unavailable`.
    func templates(among grants: [UUID]) async throws(GatewayError) -> [UUID: KeyPrefix]
}

/// Which issuances a change may bear on.
public struct ReplayQuery: Sendable {
    /// What the replay is for; tokens are good for the same only.
    public var label: String
    /// First instant.
    public var from: Date
    /// First instant after.
    public var to: Date
    /// Issuances in these buckets …
    public var buckets: [BucketName]
    /// … of these callers, or of all where absent, …
    public var principals: [Principal]?
    /// … and all issuances of these.
    public var members: [Principal]
    /// Most rows, 1…5,000.
    public var limit: Int
    /// Where to go on.
    public var pageToken: String?

    /// Puts a query together.
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
