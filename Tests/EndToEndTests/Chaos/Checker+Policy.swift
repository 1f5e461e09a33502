import Foundation

/// Promise 2: a grant is what the committed rows say.
extension Checker {
    /// Reports issuances that rested on something revoked, and refusals for which there was no reason.
    func policyFlaws() -> [String] {
        history.asks.flatMap(flaws) + history.ledger.compactMap(flaw)
    }

    /// Judges by what the client saw. At some instant of the request, each row that it rests on must have existed, or
    /// for a refusal not existed.
    private func flaws(of ask: Ask) -> [String] {
        var pillars = [Subject.grant(ask.principal), ask.pass]
        if ask.way == .byRedirect { pillars.append(.redirects(ask.bucket)) }
        let states = pillars.map { ($0, values($0, from: ask.from, to: ask.to)) }
        var flaws: [String] = []
        if !ask.given.isEmpty {
            flaws += states.filter { $0.1 == [0] }.map { "issued without \($0.0), \(ask.label)" }
        }
        for refusal in ask.refusals where [401, 403].contains(refusal.status) {
            // A missing key or ticket gives a 401; anything else that is missing gives a 403.
            let isAboutPass = refusal.status == 401
            let reasons = states.filter { isAboutPass == ($0.0 == ask.pass) && $0.1.contains(0) }
            if reasons.isEmpty { flaws.append("refused with \(refusal.code) for no reason, \(ask.label)") }
        }
        return flaws
    }

    /// Judges by the database: a ledger row must lie between the creation and the removal of its grant, by policy
    /// number and by time.
    private func flaw(of row: LedgerRow) -> String? {
        guard let grant = grantsByID[row.grant] else { return "\(row.id) has a grant that never was, \(row.grant)" }
        guard grant.principal == row.principal || grant.principal == "*" else {
            return "\(row.id) of \(row.principal) rests on a grant of \(grant.principal)"
        }
        guard row.policySeq >= grant.createdSeq else { return "\(row.id) is older than its grant" }
        if let removedSeq = grant.removedSeq, row.policySeq >= removedSeq {
            return "\(row.id) of policy \(row.policySeq) rests on a grant that went with \(removedSeq)"
        }
        if let removedAt = grant.removedAt, row.committedAt > removedAt {
            return "\(row.id) was committed \(row.committedAt - removedAt) µs later than the revoke of its grant"
        }
        return nil
    }

}
