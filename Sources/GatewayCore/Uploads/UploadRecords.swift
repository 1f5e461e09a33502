public import FoundationEssentials

/// Stores the results of uploads. Issuing an upload writes nothing here.
public protocol UploadRecords: Sendable {
    /// Reads an issuance, whatever it permits, with what is known of its upload; `nil` if there is none.
    ///
    /// - Throws: `unavailable`, like all other methods.
    func upload(_ id: UUID) async throws(GatewayError) -> ListedUpload?

    /// Records a finding, unless an earlier confirmation says that the upload landed, or any finding says so and this
    /// one finds nothing. Returns the finding that is in effect afterwards.
    func note(_ finding: UploadFinding, on id: UUID) async throws(GatewayError) -> UploadFinding

    /// Reads a page of uploads with their states, newest first.
    ///
    /// - Throws: `invalidArgument` if the page token is not from this query, `slowDown` if the query takes too long.
    func uploads(_ query: UploadQuery) async throws(GatewayError) -> LedgerPage<ListedUpload>
}

/// A filter for listing uploads.
public struct UploadQuery: Sendable {
    /// The uploads that may be seen.
    public var reach: AdminReach
    /// Only uploads in this state.
    public var state: UploadState?
    /// Only uploads to this bucket.
    public var bucket: BucketName?
    /// Only uploads of this principal.
    public var principal: Principal?
    /// Start of the recording period, inclusive; see ``LedgerRange``.
    public var from: Date?
    /// End of the recording period, exclusive.
    public var to: Date?
    /// Rows per page, 1…1,000.
    public var pageSize: Int
    /// Token from the previous page; `nil` for the first page.
    public var pageToken: String?

    /// Creates a query; by default it matches all uploads.
    public init(
        state: UploadState? = nil, bucket: BucketName? = nil, principal: Principal? = nil, from: Date? = nil,
        to: Date? = nil, pageSize: Int = 100, pageToken: String? = nil, reach: AdminReach = .unlimited
    ) {
        self.reach = reach
        self.state = state
        self.bucket = bucket
        self.principal = principal
        self.from = from
        self.to = to
        self.pageSize = pageSize
        self.pageToken = pageToken
    }

    /// Returns the period to search. Without `from`, it begins one day before its end.
    ///
    /// - Throws: `invalidArgument` if the period is empty.
    package func range(now: Date) throws(GatewayError) -> LedgerRange {
        try LedgerRange(from: from, to: to, span: LedgerRange.day, now: now)
    }
}

/// An upload with its known result.
public struct ListedUpload: Sendable, Equatable {
    /// The issuance.
    public var record: UploadRecord
    /// The state of the upload.
    public var state: UploadState
    /// The finding about the object, with its origin; `nil` if there is none.
    public var finding: UploadFinding?

    /// Creates an entry of the list.
    public init(record: UploadRecord, state: UploadState, finding: UploadFinding?) {
        self.record = record
        self.state = state
        self.finding = finding
    }
}
