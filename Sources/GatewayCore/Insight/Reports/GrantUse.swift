public import FoundationEssentials

/// A report about grants and their use.
public struct GrantUseQuery: Sendable {
    /// The grants that may be seen.
    public var reach: AdminReach
    /// Start of the ledger period to examine; if absent, 32 days ago or ``unusedSince``, whichever is earlier.
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
        ///
        /// - Parameter actions: Those of the grant. One that permits listings covers folders and no single keys.
        public init(urls: Int64, lastAt: Date, firstKey: String, lastKey: String, actions: Set<Action>) {
            self.urls = urls
            self.lastAt = lastAt
            tightestPrefix = Self.prefix(of: firstKey, and: lastKey, isFolder: actions.contains(.listObjects))
        }

        /// The key or, of a form that leaves the name to the client, the directory of its objects.
        private static func place(of key: String, isFolder: Bool) -> [UInt8] {
            guard let start = PostPolicyRequest.start(ofKey: key) ?? (isFolder ? key : nil) else {
                return Array(key.utf8)
            }
            let bytes = Array(start.utf8)
            return Array(bytes.prefix(1 + (bytes.lastIndex(of: UInt8(ascii: "/")) ?? -1)))
        }

        private static func prefix(of first: String, and last: String, isFolder: Bool) -> ExactText {
            let (first, last) = (place(of: first, isFolder: isFolder), place(of: last, isFolder: isFolder))
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
