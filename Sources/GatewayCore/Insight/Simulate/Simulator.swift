public import Foundation

/// Replays the ledger under a change of policy that is not made yet.
///
/// Each issuance is asked for again twice, by policy as it is and as it would be, with the function that issuing asks, at the
/// present time. What the ledger does not hold is taken so that it does not matter: where requests came from, and headers
/// of responses; groups of the credential are known as far as one of them matched, claims as far as a template was filled.
public struct Simulator: Sendable {
    /// How much one call looks at.
    public struct Limits: Sendable {
        /// Most issuances.
        public var maxRows: Int
        /// After so long no more are read.
        public var patience: Duration
        /// Issuances that are read together.
        public var chunk: Int

        /// Sets limits; the defaults keep an answer within the time of a request.
        public init(maxRows: Int = 1_000_000, patience: Duration = .seconds(6), chunk: Int = 2000) {
            self.maxRows = maxRows
            self.patience = patience
            self.chunk = chunk
        }
    }

    private let source: any PolicySource
    private let ledger: any ReplaySource
    private let grants: any AdminStore<Grant>
    private let limits: Limits
    private let now: @Sendable () -> Date

    /// Puts the use case together.
    ///
    /// - Parameters:
    ///   - source: Policy as it is.
    ///   - ledger: What was issued.
    ///   - grants: The grants that a proposal names.
    ///   - limits: How much one call looks at.
    ///   - now: The clock.
    public init(
        source: any PolicySource, ledger: any ReplaySource, grants: any AdminStore<Grant>, limits: Limits = Limits(),
        now: @escaping @Sendable () -> Date
    ) {
        self.source = source
        self.ledger = ledger
        self.grants = grants
        self.limits = limits
        self.now = now
    }

    /// Replays the ledger, or as much of it as one call may look at.
    ///
    /// - Parameters:
    ///   - proposal: The change.
    ///   - days: How far back, in days of 24 hours.
    ///   - label: Names proposal and stretch; a page token is good for the same only.
    ///   - pageToken: Where a replay goes on that was cut off.
    /// - Throws: `invalidArgument` for a grant to be replaced or removed that does not exist, and for a foreign token;
    ///   `slowDown`, `unavailable`.
    public func simulate(
        _ proposal: PolicyProposal, days: Int, label: String, pageToken: String?
    ) async throws(GatewayError) -> Simulation {
        let touched = try await touchedGrants(of: proposal) + proposal.incoming
        let end = now()
        let range = try LedgerRange(from: nil, to: end, span: Double(days) * LedgerRange.day, now: end)
        let isForUsers = touched.allSatisfy(\.principal.isUser)
        var query = ReplayQuery(
            label: label, from: range.from, to: end, buckets: Array(Set(touched.map(\.bucket))),
            principals: isForUsers ? Array(Set(touched.map(\.principal))) : nil,
            members: Array(Set((proposal.joins.union(proposal.leaves)).map(\.member))), limit: limits.chunk,
            pageToken: pageToken)
        var replay = Replay(proposal: proposal, policy: ReplayPolicy(source: source, proposal: proposal), now: end)
        let lastLook = end.addingTimeInterval(limits.patience / .seconds(1))
        var simulation = Simulation(range: range)
        repeat {
            let page = try await ledger.issuances(query)
            simulation.range = page.range
            try await replay.take(page.items, templates: ledger)
            query.pageToken = page.nextPageToken
        } while query.pageToken != nil && replay.examined < limits.maxRows && now() < lastLook
            && !Task.isCancelled
        simulation.nextPageToken = query.pageToken
        replay.tell(&simulation)
        return simulation
    }

    /// The grants that a proposal would replace or remove, as they are.
    private func touchedGrants(of proposal: PolicyProposal) async throws(GatewayError) -> [Grant] {
        var touched: [Grant] = []
        let named =
            proposal.replacements.enumerated().map { ("replace[\($0)].id", $1.id) }
            + proposal.removals.enumerated().map { ("remove[\($0)]", $1) }
        var seen: Set<UUID> = []
        for (field, id) in named {
            guard seen.insert(id).inserted else {
                throw .invalidArgument(field: field, reason: "The grant stands there more than once.")
            }
            do throws(GatewayError) {
                touched.append(try await grants.get(id.lowercaseText).row)
            } catch .notFound {
                throw .invalidArgument(field: field, reason: "There is no such grant.")
            }
        }
        return touched
    }
}
