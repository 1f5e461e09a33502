public import FoundationEssentials

/// A usage report: which issuances to count, and how to group them.
public struct UsageQuery: Sendable {
    /// The length of a counting interval, in UTC.
    public enum Step: String, Sendable, CaseIterable {
        case hour
        case day
        /// The whole period at once.
        case range
    }

    /// Properties to group by, besides time.
    public enum Dimension: String, Sendable, CaseIterable {
        case principal
        case bucket
        case grant
        case action
        case delivery
    }

    /// A row, as the last of a page.
    public struct Place: Sendable {
        /// Start of the hour, the day or the period.
        public var start: Date
        /// Number of issuances.
        public var urls: Int64
        /// One text for each dimension, in the order of their declaration. Those that the report does not group by are
        /// empty.
        public var names: [String]
    }

    /// The issuances to count. Without `from`, the period begins one day before its end for hours and for the whole
    /// period, and 31 days before it for days.
    public var filter: IssuanceFilter
    /// The length of an interval.
    public var step: Step
    /// The properties to group by, besides time.
    public var dimensions: Set<Dimension>
    /// Rows per page, 1…1,000.
    public var pageSize: Int
    /// Token from the previous page of the same query; `nil` for the first page.
    public var pageToken: String?

    /// Creates a query.
    public init(
        _ filter: IssuanceFilter = IssuanceFilter(), by step: Step = .hour, _ dimensions: Set<Dimension> = [],
        pageSize: Int = 100, pageToken: String? = nil
    ) {
        self.filter = filter
        self.step = step
        self.dimensions = dimensions
        self.pageSize = pageSize
        self.pageToken = pageToken
    }
}

/// The issuances of one hour, one day or the whole period, for one combination of the requested dimensions.
public struct Usage: Sendable, Equatable {
    /// Start of the hour, the day or the period.
    public var start: Date
    /// The caller, if grouped by principal.
    public var principal: String?
    /// The bucket, if grouped by bucket.
    public var bucket: String?
    /// The grant that decided, if grouped by grant.
    public var grantID: UUID?
    /// The permitted actions by name, if grouped by action; several for temporary credentials. The ledger may have some
    /// that only a later version knows.
    public var actions: [String]?
    /// The delivery, if grouped by delivery.
    public var delivery: String?
    /// Number of issuances.
    public var urls: Int64
    /// Total bytes of uploads whose length was bound.
    public var bytesBound: Int64
    /// Bytes reserved from byte quotas.
    public var bytesReserved: Int64
    /// The part of the reserved bytes that is not yet settled.
    public var bytesUnsettled: Int64
    /// Bytes of the objects that landed, where their size is known. The database learns of them up to two minutes late.
    public var bytesLanded: Int64

    /// Creates a count.
    public init(
        start: Date, principal: String? = nil, bucket: String? = nil, grantID: UUID? = nil, actions: [String]? = nil,
        delivery: String? = nil, urls: Int64, bytesBound: Int64, bytesReserved: Int64, bytesUnsettled: Int64,
        bytesLanded: Int64
    ) {
        self.start = start
        self.principal = principal
        self.bucket = bucket
        self.grantID = grantID
        self.actions = actions
        self.delivery = delivery
        self.urls = urls
        self.bytesBound = bytesBound
        self.bytesReserved = bytesReserved
        self.bytesUnsettled = bytesUnsettled
        self.bytesLanded = bytesLanded
    }
}
