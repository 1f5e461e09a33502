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
