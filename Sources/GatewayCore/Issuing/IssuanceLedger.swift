/// Records issuances. In one step it proves that the decision is still valid, charges the quotas and writes the row, or
/// does none of these.
public protocol IssuanceLedger: Sendable {
    /// Records one decision durably.
    ///
    /// - Throws: The errors that ``record(_:deadline:)`` for several proposals returns for one of them.
    func record(
        _ proposal: IssuanceProposal, deadline: ContinuousClock.Instant
    ) async throws(GatewayError) -> RecordVerdict

    /// Records decisions durably and independently of each other.
    ///
    /// - Returns: One result per proposal, in order: the verdict; ``GatewayError/slowDown(retryAfter:cause:)`` if the
    ///   queue is full or the deadline passed before sending; or ``GatewayError/unavailable(retryAfter:cause:)`` if the
    ///   database is gone or the outcome cannot be known. A credential whose proposal is not recorded must not leave
    ///   the process.
    func record(
        _ proposals: [IssuanceProposal], deadline: ContinuousClock.Instant
    ) async -> [Result<RecordVerdict, GatewayError>]
}

extension IssuanceLedger {
    /// Records one decision through the method for several.
    public func record(
        _ proposal: IssuanceProposal, deadline: ContinuousClock.Instant
    ) async throws(GatewayError) -> RecordVerdict {
        guard let answer = await record([proposal], deadline: deadline).first else {
            throw .unavailable(retryAfter: 1, cause: "the ledger gave no verdict")
        }
        return try answer.get()
    }
}

/// The outcome of a proposal.
public enum RecordVerdict: Sendable, Equatable {
    /// The issuance is committed. `remaining` says, for each charge in order, what is left in its period.
    case recorded(remaining: [QuotaRemainder])
    /// Policy changed in one of the scopes, or the position is unknown. Nothing was written; the request must be
    /// decided again.
    case stale
    /// A quota is used up; nothing was written.
    case quotaExceeded(QuotaRefusal)
}
