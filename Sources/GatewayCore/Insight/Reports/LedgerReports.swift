/// Aggregates the ledger into reports.
public protocol LedgerReports: Sendable {
    /// Counts issuances by hour or day and by the requested dimensions, newest first; or those of the whole period, the
    /// largest counts first.
    ///
    /// - Throws: The errors of ``IssuanceReader/issuances(_:)``, like the methods below unless they say otherwise.
    func usage(_ query: UsageQuery) async throws(GatewayError) -> LedgerPage<Usage>

    /// Reads a page of refusals, counted by time and by the requested dimensions, newest first.
    func denials(_ query: DenialQuery) async throws(GatewayError) -> LedgerPage<CountedDenial>

    /// Counts the reservations that are not settled yet.
    func settlingBacklog() async throws(GatewayError) -> SettlingBacklog

    /// Reads a page of live allow grants with the use of each, newest first.
    func grantUse(_ query: GrantUseQuery) async throws(GatewayError) -> LedgerPage<GrantUse>

    /// Counts the usable issuances that result from a grant or a storage credential, or that a principal asked for, as
    /// far as they may be seen.
    ///
    /// - Throws: `notFound` if the grant never existed, or if the credential does not exist and none of its issuances
    ///   is usable; `slowDown`, `unavailable`. Any principal may have asked.
    func blastRadius(of cause: BlastRadius.Cause, within reach: AdminReach) async throws(GatewayError) -> BlastRadius
}
