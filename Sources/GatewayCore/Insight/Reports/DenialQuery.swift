public import FoundationEssentials

/// A request for a page of refusals.
public struct DenialQuery: Sendable {
    /// The length of a counting interval, in UTC.
    public enum Step: String, Sendable, CaseIterable {
        case minute
        case hour
        case day
    }

    /// Properties to group by, besides time.
    public enum Dimension: String, Sendable, CaseIterable {
        case principal
        case bucket
        case code
    }

    /// A row, as the last of a page.
    public struct Place: Sendable {
        /// Start of the minute, hour or day.
        public var start: Date
        /// Principal, bucket and code. Those that the query does not group by are empty.
        public var names: [String]
    }

    /// The refusals that may be seen. Their keys are not known, so those of whole buckets only.
    public var reach: AdminReach
    /// Start of the period, inclusive; one day before its end if absent.
    public var from: Date?
    /// End of the period, exclusive.
    public var to: Date?
    /// Only refusals of this caller.
    public var principal: Principal?
    /// Only refusals for this requested bucket.
    public var bucket: BucketName?
    /// Only refusals with this answer code.
    public var code: String?
    /// The length of an interval.
    public var step: Step
    /// The properties to group by, besides time.
    public var dimensions: Set<Dimension>
    /// Rows per page, 1…1,000.
    public var pageSize: Int
    /// Token from the previous page of the same query; `nil` for the first page.
    public var pageToken: String?

    /// Creates a query; by default it matches all refusals.
    public init(
        from: Date? = nil, to: Date? = nil, principal: Principal? = nil, bucket: BucketName? = nil, code: String? = nil,
        by step: Step = .minute, _ dimensions: Set<Dimension> = Set(Dimension.allCases), pageSize: Int = 100,
        pageToken: String? = nil, reach: AdminReach = .unlimited
    ) {
        self.reach = reach
        self.from = from
        self.to = to
        self.principal = principal
        self.bucket = bucket
        self.code = code
        self.step = step
        self.dimensions = dimensions
        self.pageSize = pageSize
        self.pageToken = pageToken
    }
}

/// The number of refusals in one minute, hour or day that agree in the requested dimensions.
public struct CountedDenial: Sendable, Equatable {
    /// Start of the minute, hour or day.
    public var start: Date
    /// The caller, if grouped by principal; `*` if too many different callers were refused at the same time.
    public var principal: String?
    /// The requested bucket, if grouped by bucket and if it exists.
    public var bucket: String?
    /// The code of the answer, if grouped by code.
    public var code: String?
    /// Number of refusals.
    public var count: Int64

    /// Creates a count.
    public init(start: Date, principal: String?, bucket: String?, code: String?, count: Int64) {
        self.start = start
        self.principal = principal
        self.bucket = bucket
        self.code = code
        self.count = count
    }
}
