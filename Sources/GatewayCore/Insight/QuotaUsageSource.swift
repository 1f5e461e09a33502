/// Reads the current use of quotas.
public protocol QuotaUsageSource: Sendable {
    /// Reads what remains of each quota for its holder now, by the database's clock. The results are in the order of
    /// `holdings`.
    ///
    /// - Throws: ``GatewayError/unavailable(retryAfter:cause:)``.
    func usage(of holdings: [QuotaHolding]) async throws(GatewayError) -> [QuotaRemainder]
}

/// A quota and the holder whose use is counted against it.
public struct QuotaHolding: Sendable, Equatable {
    /// The quota.
    public var quota: Quota
    /// The principal whose use is counted: the caller, or the quota's principal if its members share the quota.
    public var holder: Principal

    /// Creates a holding of a quota.
    public init(quota: Quota, holder: Principal) {
        self.quota = quota
        self.holder = holder
    }
}

extension AccessPolicy {
    /// Returns the quotas that count a caller, sorted by identifier, with the holder whose use each counts.
    ///
    /// - Parameters:
    ///   - caller: The principal that asks.
    ///   - isWanted: Chooses among the quotas.
    func holdings(of caller: Principal, where isWanted: (Quota) -> Bool = { _ in true }) -> [QuotaHolding] {
        principals.flatMap(\.quotas).filter(isWanted)
            .map { QuotaHolding(quota: $0, holder: $0.holder(for: caller)) }
            .sorted { $0.quota.id < $1.quota.id }
    }
}
