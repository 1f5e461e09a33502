public import FoundationEssentials

/// The reasons why a request is, or was, permitted or refused.
public struct Explanation: Sendable {
    /// The main reason, as one word.
    public enum Reason: String, Sendable, CaseIterable {
        /// A grant permits the request.
        case granted
        /// A grant denies the request.
        case denied
        /// Grants match, but a condition of each one fails.
        case conditionFailed = "condition-failed"
        /// No grant matches.
        case notGranted = "not-granted"
        /// A grant permits the request, but a quota is used up.
        case quotaExceeded = "quota-exceeded"
        /// A grant permits the request, but no storage credential is valid for long enough.
        case noCredential = "no-credential"
        /// The bucket does not exist.
        case noSuchBucket = "no-such-bucket"
        /// The request is refused whoever makes it, or because more grants of the caller concern it than are examined.
        case invalidRequest = "invalid-request"
        /// The caller's credential would not be accepted.
        case unauthenticated
        /// The credential was issued, as the ledger records.
        case recorded
    }

    /// How the caller is connected to a principal.
    public enum Origin: String, Sendable, CaseIterable {
        /// The principal is the caller.
        case caller
        /// The caller's credential names the group.
        case credential
        /// A row makes the caller a member of the group.
        case membership
        /// The ledger names the principal as the one that matched.
        case ledger
        /// The principal is `*`, which includes everyone.
        case everyone
    }

    /// A principal that the caller acts as.
    public struct Member: Sendable, Equatable {
        /// The principal that the caller acts as.
        public var principal: Principal
        /// How the caller is connected to the principal.
        public var origin: Origin
    }

    /// A grant that matches bucket, action, key and caller.
    public struct Match: Sendable {
        /// The decision that the grant alone would lead to.
        public enum Outcome: Sendable {
            /// The grant permits the request.
            case permits
            /// The grant denies the request.
            case denies
            /// A check of the request against the grant fails.
            case fails(GatewayError)
        }

        /// The grant as stored.
        public var grant: Grant
        /// The prefix of the grant, with variables filled in.
        public var prefix: ExactText
        /// The decision that the grant alone would lead to; `nil` if the ledger does not record enough about the
        /// request.
        public var outcome: Outcome?
    }

    /// A quota that applies, and what remains of it.
    public struct Allowance: Sendable {
        /// The quota as stored.
        public var quota: Quota
        /// The principal whose use is counted.
        public var holder: Principal
        /// The amount that the request takes; `nil` if the request is refused before this is known, or if the grant
        /// that decided must not be shown.
        public var takes: Int64?
        /// What remains of the quota now; `nil` for a past time.
        public var remainder: QuotaRemainder?
    }

    /// An assumption made because the actual data is unknown.
    public enum Assumption: String, Sendable, CaseIterable {
        /// Bucket, storage credential and quotas are the current ones.
        case bucketAsNow = "bucket-as-now"
        /// The groups and claims that the credential named are not in the ledger.
        case credentialUnknown = "credential-unknown"
        /// The source address is unknown, so no network condition is met.
        case sourceUnknown = "source-unknown"
    }

    /// The main reason.
    public var reason: Reason
    /// The error that the caller receives; `nil` if the request is permitted, or if the error describes a quota or the
    /// conditions of a grant that must not be shown.
    public var error: GatewayError?
    /// All principals that the caller acts as.
    public var members: [Member] = []
    /// The grant that decided.
    public var decidedBy: Grant?
    /// Every matching grant: deny grants first, then in the order in which a decision considers them.
    public var matches: [Match] = []
    /// Grants that nearly match and may be shown, nearest first.
    public var nearMisses: [NearMiss] = []
    /// The quotas that apply.
    public var quotas: [Allowance] = []
    /// The permit that would be signed; `nil` if the grant that decided must not be shown.
    public var permit: Permit?
    /// The policy change that the explanation is based on.
    public var moment: PolicyMoment?
    /// Whether the explanation is based on current policy.
    public var isCurrent = true
    /// The assumptions made.
    public var assumptions: [Assumption] = []
    /// The ledger row that is explained.
    public var issuance: RecordedIssuance?
    /// Whether the URL would work only from the address that asks for it.
    var bindsSource = false

    /// Whether the answer depends on the source address.
    var dependsOnSource: Bool { bindsSource || matches.contains { $0.grant.conditions.sourceCIDRs != nil } }

    /// The explanation as an admin may see it: without the rows that lie outside.
    func shown(within reach: AdminReach) -> Explanation {
        guard !reach.isUnlimited else { return self }
        var explanation = self
        if decidedBy?.isVisible(within: reach) == false {
            explanation.decidedBy = nil
            // Its conditions are in both.
            explanation.permit = nil
            explanation.quotas = quotas.map { allowance in
                var allowance = allowance
                allowance.takes = nil
                return allowance
            }
            if error != .accessDenied { explanation.error = nil }
        }
        explanation.matches = matches.filter { $0.grant.isVisible(within: reach) }
        explanation.quotas = explanation.quotas.filter { $0.quota.isVisible(within: reach) }
        if case .quotaExceeded(let refusal)? = error,
            !explanation.quotas.contains(where: { $0.quota.identifier == refusal.quotaID })
        {
            explanation.error = nil
        }
        let named = explanation.namedPrincipals
        explanation.members = members.filter { member in
            switch member.origin {
            // The admin has named these.
            case .caller, .credential: true
            case .everyone: reach.touches(member.principal)
            case .membership, .ledger: reach.names(member.principal) || named.contains(member.principal)
            }
        }
        return explanation
    }

    /// The principals of the rows that the explanation shows.
    private var namedPrincipals: Set<Principal> {
        var named = Set(matches.map(\.grant.principal))
        named.formUnion(nearMisses.map(\.grant.principal))
        named.formUnion(quotas.map(\.quota.principal))
        if let decidedBy { named.insert(decidedBy.principal) }
        if let issuance, let matched = try? Principal(issuance.matchedPrincipal) { named.insert(matched) }
        return named
    }

    /// Whether the request is, or was, permitted.
    public var isPermitted: Bool { reason == .granted || reason == .recorded }

    /// Creates an explanation with a reason.
    public init(_ reason: Reason, error: GatewayError? = nil) {
        self.reason = reason
        self.error = error
    }
}

/// A request to explain.
public struct ExplainQuestion: Sendable {
    /// The caller, with its claims.
    public var subject: Subject
    /// The groups that the caller's credential names.
    public var groups: [Principal]
    /// The fields of a request for a URL.
    public var fields: IssueRequest.Fields
    /// The delivery of the URL.
    public var delivery: Delivery
    /// The source address of the request, if it should be considered.
    public var sourceAddress: IPAddress?
    /// The time of the request; `nil` for now.
    public var at: Date?

    /// Creates a question.
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
