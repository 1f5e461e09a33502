public import Foundation

/// Remembers what became of uploads. Nothing is written when they are issued.
public protocol UploadRecords: Sendable {
    /// Reads an issuance, whatever it permits; `nil` where there is none.
    ///
    /// - Throws: `unavailable`, as do all the others.
    func upload(_ id: UUID) async throws(GatewayError) -> UploadRecord?

    /// Writes a finding down, unless it was found before that the upload landed; gives what holds then.
    func note(_ finding: UploadFinding, on id: UUID) async throws(GatewayError) -> UploadFinding

    /// Reads a page of uploads with their states, the newest first.
    ///
    /// - Throws: `invalidArgument` for a token that is not of a page of this query, `slowDown` where it takes too long.
    func uploads(_ query: UploadQuery) async throws(GatewayError) -> LedgerPage<ListedUpload>
}

/// Which uploads to list.
public struct UploadQuery: Sendable {
    /// Only those in this state.
    public var state: UploadState?
    /// Only those to this bucket.
    public var bucket: BucketName?
    /// Only those of this user.
    public var principal: Principal?
    /// First instant of recording; see ``LedgerRange``.
    public var from: Date?
    /// First instant after that.
    public var to: Date?
    /// Rows on a page, 1…1,000.
    public var pageSize: Int
    /// Where to go on, as a former page said.
    public var pageToken: String?

    /// Puts a query together.
    public init(
        state: UploadState? = nil, bucket: BucketName? = nil, principal: Principal? = nil, from: Date? = nil,
        to: Date? = nil, pageSize: Int = 100, pageToken: String? = nil
    ) {
        self.state = state
        self.bucket = bucket
        self.principal = principal
        self.from = from
        self.to = to
        self.pageSize = pageSize
        self.pageToken = pageToken
    }
}

/// An upload and what is known of it.
public struct ListedUpload: Sendable, Equatable {
    /// The issuance.
    public var record: UploadRecord
    /// What became of it.
    public var state: UploadState
    /// What is known of the object, and by whom; `nil` where nobody said anything.
    public var finding: UploadFinding?

    /// Puts an upload together.
    public init(record: UploadRecord, state: UploadState, finding: UploadFinding?) {
        self.record = record
        self.state = state
        self.finding = finding
    }
}
