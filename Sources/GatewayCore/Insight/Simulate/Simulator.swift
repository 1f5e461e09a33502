public import FoundationEssentials

/// Replays the ledger under a change of policy that has not been made.
///
/// Each issuance is decided twice, by current and by proposed policy, with the decision function that issuing uses and
/// at the present time. Source addresses, versions and response headers, which the ledger does not record, are assumed
/// to make no difference unless the change restricts them; how long temporary credentials must live never makes one. Of
/// the credential's groups, only the one that matched is known; of its claims, only those that filled in a template.
/// Temporary credentials are decided for the prefix that all their keys have in common, because the ledger does not
/// record the one that was asked for.
public struct Simulator: Sendable {
    /// Limits for one call.
    public struct Limits: Sendable {
        /// Maximum number of issuances to examine.
        public var maxRows: Int
        /// The time after which no more issuances are read.
        public var patience: Duration
        /// Number of issuances to read at once.
        public var chunk: Int

        /// Creates limits; the defaults keep an answer within the time of a request.
        public init(maxRows: Int = 1_000_000, patience: Duration = .seconds(6), chunk: Int = 2000) {
            self.maxRows = maxRows
            self.patience = patience
            self.chunk = chunk
        }
    }

    /// Longest period of a replay, in days before now.
    static let maxDays: Int64 = 366
    /// The period if a question states none, in days.
    static let defaultDays: Int64 = 7

    private let source: any PolicySource
    private let ledger: any ReplaySource
    private let grants: any AdminStore<Grant>
    private let limits: Limits
    private let now: @Sendable () -> Date
    private let instant: @Sendable () -> ContinuousClock.Instant

    /// Creates the use case from its parts.
    ///
    /// - Parameters:
    ///   - source: Reads current policy.
    ///   - ledger: Reads past issuances.
    ///   - grants: Reads the grants that a proposal names.
    ///   - limits: Limits for one call.
    ///   - now: The gateway's clock.
    ///   - instant: A clock that nobody sets, which limits the time of a call.
    public init(
        source: any PolicySource, ledger: any ReplaySource, grants: any AdminStore<Grant>, limits: Limits = Limits(),
        now: @escaping @Sendable () -> Date, instant: @escaping @Sendable () -> ContinuousClock.Instant
    ) {
        self.source = source
        self.ledger = ledger
        self.grants = grants
        self.limits = limits
        self.now = now
        self.instant = instant
    }

    /// Replays the ledger, or as much of it as the limits of one call allow.
    ///
    /// - Parameters:
    ///   - proposal: The change to simulate.
    ///   - days: Length of the period, in days of 24 hours; `nil` for the default.
    ///   - label: Identifies proposal and period; a page token is valid only for the same label.
    ///   - pageToken: Token to continue a replay that was cut off.
    /// - Throws: `invalidArgument` for another number of days, for a proposal that changes nothing or contradicts
    ///   itself, if a grant to replace or remove does not exist, or for an invalid token; `slowDown`, `unavailable`.
    public func simulate(
        _ proposal: PolicyProposal, days: Int64?, label: String, pageToken: String?
    ) async throws(GatewayError) -> Simulation {
        let days = days ?? Self.defaultDays
        try require(1...Self.maxDays ~= days, "days", "The value must be 1 to \(Self.maxDays) days.")
        try proposal.check()
        let outgoing = try await outgoingGrants(of: proposal)
        let touched = outgoing + proposal.incoming
        let end = now()
        let range = try LedgerRange(from: nil, to: end, span: Double(days) * LedgerRange.day, now: end)
        let isForUsers = touched.allSatisfy(\.principal.isUser)
        var query = ReplayQuery(
            label: label, from: range.from, to: end, buckets: Array(Set(touched.map(\.bucket))),
            principals: isForUsers ? Array(Set(touched.map(\.principal))) : nil,
            members: Array(Set((proposal.joins.union(proposal.leaves)).map(\.member))), limit: limits.chunk,
            pageToken: pageToken)
        let policy = ReplayPolicy(source: source, proposal: proposal, outgoingGrants: outgoing)
        var replay = Replay(proposal: proposal, policy: policy, now: end)
        let lastLook = instant() + limits.patience
        var simulation = Simulation(range: range)
        repeat {
            let page = try await ledger.issuances(query)
            simulation.range = page.range
            try await replay.take(page.items, history: ledger)
            query.pageToken = page.nextPageToken
        } while query.pageToken != nil && replay.examined < limits.maxRows && instant() < lastLook
            && !Task.isCancelled
        simulation.nextPageToken = query.pageToken
        replay.tell(&simulation)
        return simulation
    }

    /// Reads the current versions of the grants that a proposal would replace or remove.
    private func outgoingGrants(of proposal: PolicyProposal) async throws(GatewayError) -> [Grant] {
        var outgoing: [Grant] = []
        let named =
            proposal.replacements.enumerated().map { ("replace[\($0)].id", $1.id) }
            + proposal.removals.enumerated().map { ("remove[\($0)]", $1) }
        var seen: Set<UUID> = []
        for (field, id) in named {
            guard seen.insert(id).inserted else {
                throw .invalidArgument(field: field, reason: "The list names the grant more than once.")
            }
            do throws(GatewayError) {
                outgoing.append(try await grants.get(id.lowercaseText).row)
            } catch .notFound {
                throw .invalidArgument(field: field, reason: "The grant does not exist.")
            }
        }
        return outgoing
    }
}
