public import Foundation

/// Why something is, or was, permitted or refused.
public struct Explanation: Sendable {
    /// The reason in one word.
    public enum Reason: String, Sendable, CaseIterable {
        /// A grant permits it.
        case granted
        /// A grant denies it.
        case denied
        /// Grants match, and a condition of each fails.
        case conditionFailed = "condition-failed"
        /// No grant matches.
        case notGranted = "not-granted"
        /// A grant permits it, but a quota is full.
        case quotaExceeded = "quota-exceeded"
        /// A grant permits it, but there is no storage credential that lasts.
        case noCredential = "no-credential"
        /// There is no such bucket.
        case noSuchBucket = "no-such-bucket"
        /// Such a request is refused whoever makes it.
        case invalidRequest = "invalid-request"
        /// The caller's credential would not be accepted.
        case unauthenticated
        /// It was issued; the ledger has it.
        case recorded
    }

    /// How the caller comes to a principal.
    public enum Origin: String, Sendable, CaseIterable {
        /// It is the caller.
        case caller
        /// The credential names the group.
        case credential
        /// A row puts the caller into the group.
        case membership
        /// The ledger names it as the one that matched.
        case ledger
        /// Everybody is it.
        case everyone
    }

    /// A principal that the caller is.
    public struct Member: Sendable, Equatable {
        /// The principal.
        public var principal: Principal
        /// How the caller comes to it.
        public var origin: Origin
    }

    /// A grant that matches bucket, action, key and caller.
    public struct Match: Sendable {
        /// What the grant alone would lead to.
        public enum Outcome: Sendable {
            /// It permits.
            case permits
            /// It denies.
            case denies
            /// Something about it fails.
            case fails(GatewayError)
        }

        /// The grant.
        public var grant: Grant
        /// Its prefix, variables filled in.
        public var prefix: ExactText
        /// What it alone would lead to; `nil` where the ledger does not tell enough of the request.
        public var outcome: Outcome?
    }

    /// A quota that applies, and what is left of it.
    public struct Allowance: Sendable {
        /// The quota.
        public var quota: Quota
        /// Whose use is counted.
        public var holder: Principal
        /// What the request takes from it; `nil` where it is refused before that is known.
        public var takes: Int64?
        /// What is left of it now; `nil` for a time past.
        public var remainder: QuotaRemainder?
    }

    /// What had to be taken as it is, for want of knowing better.
    public enum Assumption: String, Sendable, CaseIterable {
        /// Bucket, storage credential and quotas are as they are now.
        case bucketAsNow = "bucket-as-now"
        /// Groups and claims that the credential named are not in the ledger.
        case credentialUnknown = "credential-unknown"
        /// Where the request came from is not known, so that no network holds.
        case sourceUnknown = "source-unknown"
    }

    /// The reason.
    public var reason: Reason
    /// What the caller is told; `nil` where it is permitted.
    public var error: GatewayError?
    /// All that the caller is.
    public var members: [Member] = []
    /// The grant that decided.
    public var decidedBy: Grant?
    /// Every grant that matches, those that deny first, then in the order in which they are asked.
    public var matches: [Match] = []
    /// Grants that nearly match, the nearest first.
    public var nearMisses: [NearMiss] = []
    /// Quotas that apply.
    public var quotas: [Allowance] = []
    /// What would be signed.
    public var permit: Permit?
    /// The state of policy.
    public var moment: PolicyMoment?
    /// Whether that is the present one.
    public var isCurrent = true
    /// What had to be assumed.
    public var assumptions: [Assumption] = []
    /// The row of the ledger that is explained.
    public var issuance: RecordedIssuance?

    /// Whether it is, or was, permitted.
    public var isPermitted: Bool { reason == .granted || reason == .recorded }

    /// Begins an explanation.
    public init(_ reason: Reason, error: GatewayError? = nil) {
        self.reason = reason
        self.error = error
    }
}

/// What is to be explained.
public struct ExplainQuestion: Sendable {
    /// The caller.
    public var subject: Subject
    /// Groups that the caller's credential names.
    public var groups: [Principal]
    /// The members of a request for a URL.
    public var fields: IssueRequest.Fields
    /// How the URL is to reach the caller.
    public var delivery: Delivery
    /// Where the request comes from, if that is to be considered.
    public var sourceAddress: IPAddress?
    /// When; now where absent.
    public var at: Date?

    /// Puts a question together.
    public init(
        subject: Subject, groups: [Principal], fields: IssueRequest.Fields, delivery: Delivery = .presignedURL,
        sourceAddress: IPAddress? = nil, at: Date? = nil
    ) {
        self.subject = subject
        self.groups = groups
        self.fields = fields
        self.delivery = delivery
        self.sourceAddress = sourceAddress
        self.at = at
    }
}
