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
    /// The action, if grouped by action; for temporary credentials that permit both, the two separated by a comma.
    public var action: String?
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
        start: Date, principal: String? = nil, bucket: String? = nil, grantID: UUID? = nil, action: String? = nil,
        delivery: String? = nil, urls: Int64, bytesBound: Int64, bytesReserved: Int64, bytesUnsettled: Int64,
        bytesLanded: Int64
    ) {
        self.start = start
        self.principal = principal
        self.bucket = bucket
        self.grantID = grantID
        self.action = action
        self.delivery = delivery
        self.urls = urls
        self.bytesBound = bytesBound
        self.bytesReserved = bytesReserved
        self.bytesUnsettled = bytesUnsettled
        self.bytesLanded = bytesLanded
    }
}

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

/// The reservations of byte quotas that are not settled yet.
public struct SettlingBacklog: Sendable, Equatable {
    /// Number of reservations. An upload has one for each byte quota that it was charged to.
    public var reservations: Int64
    /// Bytes that they hold.
    public var bytes: Int64
    /// Number of reservations whose credential has expired, so that they can be settled.
    public var expired: Int64
    /// When the first of these expired; `nil` if there are none.
    public var expiredSince: Date?

    /// Creates a report.
    public init(reservations: Int64, bytes: Int64, expired: Int64, expiredSince: Date?) {
        self.reservations = reservations
        self.bytes = bytes
        self.expired = expired
        self.expiredSince = expiredSince
    }
}

/// A report about grants and their use.
public struct GrantUseQuery: Sendable {
    /// The grants that may be seen.
    public var reach: AdminReach
    /// Start of the ledger period to examine; 32 days ago if absent.
    public var from: Date?
    /// Only grants not used since this time; 7 days ago if absent.
    public var unusedSince: Date?
    /// Whether to also list grants that were used since then.
    public var includesUsed: Bool
    /// Only grants of this principal.
    public var principal: Principal?
    /// Only grants in this bucket.
    public var bucket: BucketName?
    /// Rows per page, 1…1,000.
    public var pageSize: Int
    /// Token from the previous page of the same query; `nil` for the first page.
    public var pageToken: String?

    /// Creates a query.
    public init(
        from: Date? = nil, unusedSince: Date? = nil, includesUsed: Bool = false, principal: Principal? = nil,
        bucket: BucketName? = nil, pageSize: Int = 100, pageToken: String? = nil, reach: AdminReach = .unlimited
    ) {
        self.reach = reach
        self.from = from
        self.unusedSince = unusedSince
        self.includesUsed = includesUsed
        self.principal = principal
        self.bucket = bucket
        self.pageSize = pageSize
        self.pageToken = pageToken
    }
}

/// A grant and its use.
public struct GrantUse: Sendable, Equatable {
    /// The issuances under a grant.
    public struct Use: Sendable, Equatable {
        /// Number of issuances.
        public var urls: Int64
        /// Time of the latest issuance.
        public var lastAt: Date
        /// The narrowest prefix that covers all keys of these issuances.
        public var tightestPrefix: ExactText

        /// Creates a use from the first and the last key in byte order. Any prefix that these two share is shared by
        /// all keys between them.
        public init(urls: Int64, lastAt: Date, firstKey: String, lastKey: String) {
            self.urls = urls
            self.lastAt = lastAt
            tightestPrefix = Self.prefix(of: firstKey, and: lastKey)
        }

        private static func prefix(of first: String, and last: String) -> ExactText {
            let (first, last) = (Array(first.utf8), Array(last.utf8))
            if first == last { return ExactText(String(decoding: first, as: UTF8.self)) }
            let alike = zip(first, last).prefix { $0 == $1 }.count
            let end = first[..<alike].lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? 0
            return ExactText(String(decoding: first[..<end], as: UTF8.self))
        }
    }

    /// The grant as stored.
    public var grant: Grant
    /// The grant's use in the examined period; `nil` if there was none.
    public var use: Use?

    /// Combines a grant with its use.
    public init(grant: Grant, use: Use?) {
        self.grant = grant
        self.use = use
    }
}

/// The issuances that are still usable because of a grant or a storage credential.
public struct BlastRadius: Sendable, Equatable {
    /// The grant, credential or principal that the issuances result from.
    public enum Cause: Sendable, Equatable {
        /// The grant that decided.
        case grant(UUID)
        /// The credential that signed.
        case credential(UUID)
        /// The principal who asked.
        case principal(Principal)
    }

    /// A group of usable issuances with its size and last expiry.
    public struct Share: Sendable, Equatable {
        /// Name of the group: a principal, a bucket, a delivery or an identifier.
        public var name: String
        /// Number of issuances in the group.
        public var count: Int64
        /// When the last of them expires.
        public var aliveUntil: Date

        /// Creates a group.
        public init(name: String, count: Int64, aliveUntil: Date) {
            self.name = name
            self.count = count
            self.aliveUntil = aliveUntil
        }
    }

    /// Temporary credentials that are still valid, counted once however often they were returned.
    public struct Session: Sendable, Equatable {
        /// The principal that holds the credentials.
        public var principal: String
        /// The bucket of the session.
        public var bucket: String
        /// The requested prefix; the scope of the session may be narrower.
        public var prefix: String
        /// The permitted actions.
        public var actions: [String]
        /// The credential that opened the session.
        public var credentialID: UUID
        /// When the session ends.
        public var expiresAt: Date

        /// Creates an entry for a session.
        public init(
            principal: String, bucket: String, prefix: String, actions: [String], credentialID: UUID, expiresAt: Date
        ) {
            self.principal = principal
            self.bucket = bucket
            self.prefix = prefix
            self.actions = actions
            self.credentialID = credentialID
            self.expiresAt = expiresAt
        }
    }

    /// Maximum number of principals listed, those with the most issuances first.
    public static let maxPrincipals = 100
    /// Maximum number of sessions listed, those that live longest first.
    public static let maxSessions = 1000

    /// Number of usable issuances.
    public var count: Int64
    /// When the last of them expires; `nil` if there are none.
    public var aliveUntil: Date?
    /// Number of principals that hold them.
    public var principalCount: Int64
    /// Principals, those with the most issuances first.
    public var principals: [Share]
    /// Numbers by delivery.
    public var deliveries: [Share]
    /// Numbers by bucket.
    public var buckets: [Share]
    /// Numbers by credential that signed. Replacing a credential's keys at the store invalidates its issuances at once.
    public var credentials: [Share]
    /// Numbers by grant that decided, those with the most first; limited to the same number as principals.
    public var grants: [Share]
    /// Number of valid sessions.
    public var sessionCount: Int64
    /// The valid sessions. A session can be based on several grants, and the ledger names only the widest. The report
    /// for a grant therefore lists every session that the grant may have contributed to.
    public var sessions: [Session]

    /// Creates a report from its parts.
    public init(
        count: Int64, aliveUntil: Date?, principalCount: Int64, principals: [Share], deliveries: [Share],
        buckets: [Share], credentials: [Share], grants: [Share], sessionCount: Int64, sessions: [Session]
    ) {
        self.count = count
        self.aliveUntil = aliveUntil
        self.principalCount = principalCount
        self.principals = principals
        self.deliveries = deliveries
        self.buckets = buckets
        self.credentials = credentials
        self.grants = grants
        self.sessionCount = sessionCount
        self.sessions = sessions
    }
}
