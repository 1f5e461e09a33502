public import Foundation

/// What is to be counted, and how finely.
public struct UsageQuery: Sendable {
    /// The stretch of time that one count is for, in UTC.
    public enum Step: String, Sendable, CaseIterable {
        case hour
        case day
    }

    /// What counts are kept apart by, besides time.
    public enum Dimension: String, Sendable, CaseIterable {
        case principal
        case bucket
        case grant
        case action
        case delivery
    }

    /// Which issuances; a beginning that is absent is a day before the end for hours, and 31 days for days.
    public var filter: IssuanceFilter
    /// The stretch of time.
    public var step: Step
    /// What else counts are kept apart by.
    public var dimensions: Set<Dimension>
    /// Rows on a page, 1…1,000.
    public var pageSize: Int
    /// Where to go on, as a former page of the same query said.
    public var pageToken: String?

    /// Puts a query together.
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

/// What was issued in one hour or day, of one combination of what was asked for.
public struct Usage: Sendable, Equatable {
    /// When the hour or day begins.
    public var start: Date
    /// The caller, where counts are kept apart by it.
    public var principal: String?
    /// The bucket, likewise.
    public var bucket: String?
    /// The grant that decided, likewise.
    public var grantID: UUID?
    /// The action, likewise; both with a comma between them for temporary credentials.
    public var action: String?
    /// The delivery, likewise.
    public var delivery: String?
    /// How much was issued.
    public var urls: Int64
    /// Bytes of uploads whose length was bound.
    public var bytesBound: Int64
    /// Bytes that byte quotas reserved.
    public var bytesReserved: Int64
    /// Of those, the bytes that are not settled yet.
    public var bytesUnsettled: Int64

    /// Puts a count together.
    public init(
        start: Date, principal: String? = nil, bucket: String? = nil, grantID: UUID? = nil, action: String? = nil,
        delivery: String? = nil, urls: Int64, bytesBound: Int64, bytesReserved: Int64, bytesUnsettled: Int64
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
    }
}

/// A page of refusals that is asked for.
public struct DenialQuery: Sendable {
    /// First instant; a day before the end where absent.
    public var from: Date?
    /// First instant after.
    public var to: Date?
    /// The caller.
    public var principal: Principal?
    /// The bucket that was asked for.
    public var bucket: BucketName?
    /// The code of the answer.
    public var code: String?
    /// Rows on a page, 1…1,000.
    public var pageSize: Int
    /// Where to go on, as a former page of the same query said.
    public var pageToken: String?

    /// Puts a query together.
    public init(
        from: Date? = nil, to: Date? = nil, principal: Principal? = nil, bucket: BucketName? = nil, code: String? = nil,
        pageSize: Int = 100, pageToken: String? = nil
    ) {
        self.from = from
        self.to = to
        self.principal = principal
        self.bucket = bucket
        self.code = code
        self.pageSize = pageSize
        self.pageToken = pageToken
    }
}

/// How often something was refused in one minute.
public struct CountedDenial: Sendable, Equatable {
    /// The minute.
    public var minute: Date
    /// The caller; `*` where too many different ones were refused at a time.
    public var principal: String
    /// The bucket, where it exists.
    public var bucket: String?
    /// The code of the answer.
    public var code: String
    /// How often.
    public var count: Int64

    /// Puts a count together.
    public init(minute: Date, principal: String, bucket: String?, code: String, count: Int64) {
        self.minute = minute
        self.principal = principal
        self.bucket = bucket
        self.code = code
        self.count = count
    }
}

/// Which grants are asked for, and over which use.
public struct GrantUseQuery: Sendable {
    /// From when on the ledger is looked at; 32 days ago where absent.
    public var from: Date?
    /// Only grants without use since then; 7 days ago where absent.
    public var unusedSince: Date?
    /// Whether grants that were used since are shown as well.
    public var includesUsed: Bool
    /// Only grants of a principal.
    public var principal: Principal?
    /// Only grants in a bucket.
    public var bucket: BucketName?
    /// Rows on a page, 1…1,000.
    public var pageSize: Int
    /// Where to go on, as a former page of the same query said.
    public var pageToken: String?

    /// Puts a query together.
    public init(
        from: Date? = nil, unusedSince: Date? = nil, includesUsed: Bool = false, principal: Principal? = nil,
        bucket: BucketName? = nil, pageSize: Int = 100, pageToken: String? = nil
    ) {
        self.from = from
        self.unusedSince = unusedSince
        self.includesUsed = includesUsed
        self.principal = principal
        self.bucket = bucket
        self.pageSize = pageSize
        self.pageToken = pageToken
    }
}

/// A grant and the use that was made of it.
public struct GrantUse: Sendable, Equatable {
    /// What was issued under a grant.
    public struct Use: Sendable, Equatable {
        /// How much.
        public var urls: Int64
        /// When most lately.
        public var lastAt: Date
        /// The narrowest prefix that covers every key of it.
        public var tightestPrefix: ExactText

        /// Puts it together from the first and the last of the keys in the order of their bytes: what those two begin with
        /// alike, all others begin with as well.
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

    /// The grant.
    public var grant: Grant
    /// Its use in the stretch that was looked at; `nil` where there was none.
    public var use: Use?

    /// Pairs them.
    public init(grant: Grant, use: Use?) {
        self.grant = grant
        self.use = use
    }
}

/// What can still be used because of a grant or a storage credential.
public struct BlastRadius: Sendable, Equatable {
    /// Because of what.
    public enum Cause: Sendable, Equatable {
        /// The grant that decided.
        case grant(UUID)
        /// The credential that signed.
        case credential(UUID)
    }

    /// How much of something is alive, and until when.
    public struct Share: Sendable, Equatable {
        /// What it is; a principal, a bucket, a delivery or an identifier.
        public var name: String
        /// How much.
        public var count: Int64
        /// When the last of it dies.
        public var aliveUntil: Date

        /// Puts a share together.
        public init(name: String, count: Int64, aliveUntil: Date) {
            self.name = name
            self.count = count
            self.aliveUntil = aliveUntil
        }
    }

    /// Temporary credentials that are alive, however often they were given out.
    public struct Session: Sendable, Equatable {
        /// Whose they are.
        public var principal: String
        /// Where.
        public var bucket: String
        /// Below what they were asked for; their scope may be narrower.
        public var prefix: String
        /// What they permit.
        public var actions: [String]
        /// The credential that opened the session.
        public var credentialID: UUID
        /// When they end.
        public var expiresAt: Date

        /// Puts a session together.
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

    /// Most principals that are named, those with most first.
    public static let maxPrincipals = 100
    /// Most sessions that are listed, those that live longest first.
    public static let maxSessions = 1000

    /// How much is alive.
    public var count: Int64
    /// When the last of it dies; `nil` where nothing is alive.
    public var aliveUntil: Date?
    /// How many principals hold it.
    public var principalCount: Int64
    /// Principals, those with most first.
    public var principals: [Share]
    /// How it left.
    public var deliveries: [Share]
    /// Where.
    public var buckets: [Share]
    /// The credentials that signed: to replace their keys at the store ends it at once.
    public var credentials: [Share]
    /// The grants that decided, those with most first, at most as many as principals.
    public var grants: [Share]
    /// How many sessions are alive.
    public var sessionCount: Int64
    /// Those sessions. A session rests on several grants, and the ledger names the widest: because of a grant there stands here
    /// every session that it may have had a part in.
    public var sessions: [Session]

    /// Puts a report together.
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
