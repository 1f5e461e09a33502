import FoundationEssentials

/// A permit for a credential that ends at an instant that the signature states.
protocol EndingPermit: Sendable {
    /// When the credential expires, by the signing clock; not valid at this instant or later.
    var expiresAt: Date { get }
}

extension Permit: EndingPermit {}
extension CookiePermit: EndingPermit {}

extension RepeatableIssuance? {
    /// Returns the permit to sign by: the given one or, if the request repeats an earlier one, that of the first time.
    ///
    /// - Parameters:
    ///   - permit: The permit as decided now.
    ///   - instant: The time of the decision.
    ///   - decideAt: Decides about the same request at another time.
    /// - Throws: `idempotency` if the first credential has expired or would be decided differently now.
    func permit<Permitted: EndingPermit>(
        _ permit: Permitted, at instant: Date, _ decideAt: (Date) -> Verdict<Permitted>
    ) throws(GatewayError) -> Permitted {
        guard let self, let decidedAt = self.decidedAt else { return permit }
        if case .permit(let then) = decideAt(decidedAt), then.expiresAt > instant { return then }
        // A part whose identifier was fixed, and which was not permitted yet or has expired before it was decided on.
        guard self.isRecorded else { return permit }
        throw .idempotency(.answerGone)
    }
}
