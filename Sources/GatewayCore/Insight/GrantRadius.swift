public import FoundationEssentials

/// Tells what may still be used because of a grant.
public struct GrantRadius: Sendable {
    private let grants: any AdminStore<Grant>
    private let reports: any LedgerReports

    /// Creates the use case from its parts.
    public init(grants: any AdminStore<Grant>, reports: any LedgerReports) {
        self.grants = grants
        self.reports = reports
    }

    /// Counts the usable issuances that result from a grant. A delegated admin asks about grants that exist and lie
    /// inside; others also about removed ones.
    ///
    /// - Throws: `notFound`, `slowDown`, `unavailable`.
    public func radius(of id: UUID, within reach: AdminReach) async throws(GatewayError) -> BlastRadius {
        if !reach.isUnlimited { _ = try await grants.get(id.lowercaseText, within: reach) }
        return try await reports.blastRadius(of: .grant(id), within: reach)
    }
}
