public import FoundationEssentials

/// Aggregates the ledger into reports. ``LedgerReporting`` has resolved the queries: periods, page sizes and tokens in
/// them mean nothing here.
public protocol LedgerReports: Sendable {
    /// Counts issuances by hour or day and by the requested dimensions, newest first; or those of the whole period, the
    /// largest counts first.
    ///
    /// - Parameters:
    ///   - query: What to count, and by what.
    ///   - range: The period.
    ///   - place: The row after which to begin; `nil` for the first.
    ///   - limit: Maximum number of rows.
    /// - Throws: `slowDown` if the query takes too long, `unavailable`; like the methods below unless they say
    ///   otherwise.
    func usage(
        _ query: UsageQuery, in range: LedgerRange, after place: UsageQuery.Place?, limit: Int
    ) async throws(GatewayError) -> [Usage]

    /// Counts refusals by time and by the requested dimensions, newest first.
    func denials(
        _ query: DenialQuery, in range: LedgerRange, after place: DenialQuery.Place?, limit: Int
    ) async throws(GatewayError) -> [CountedDenial]

    /// Counts the reservations that are not settled yet.
    func settlingBacklog() async throws(GatewayError) -> SettlingBacklog

    /// Reads live allow grants with the use of each, newest first.
    ///
    /// - Parameters:
    ///   - query: Which grants.
    ///   - from: Start of the ledger period to examine.
    ///   - since: Unless the query includes used grants, only those not used since this time.
    ///   - place: The grant after which to begin; `nil` for the first.
    ///   - limit: Maximum number of rows.
    func grantUse(
        _ query: GrantUseQuery, from: Date, unusedSince since: Date, after place: UUID?, limit: Int
    ) async throws(GatewayError) -> [GrantUse]

    /// Counts the usable issuances that result from a grant or a storage credential, or that a principal asked for, as
    /// far as they may be seen.
    ///
    /// - Throws: `notFound` if the grant never existed, or if the credential does not exist and none of its issuances
    ///   is usable; `slowDown`, `unavailable`. Any principal may have asked.
    func blastRadius(
        of cause: BlastRadius.Cause, within reach: AdminReach, deadline: ContinuousClock.Instant?
    ) async throws(GatewayError) -> BlastRadius
}

extension LedgerReports {
    /// What is alive because of a cause, in whatever time a report may take.
    public func blastRadius(
        of cause: BlastRadius.Cause, within reach: AdminReach
    ) async throws(GatewayError) -> BlastRadius {
        try await blastRadius(of: cause, within: reach, deadline: nil)
    }
}
