import GatewayCore

/// A proposal on its way into the ledger, with the caller who waits for its verdict. It is answered once, by the code
/// that took it out of the queue.
final class LedgerEntry: Sendable {
    /// Who waits for the verdict.
    enum Asker {
        /// A caller who handed in this proposal alone.
        case caller(CheckedContinuation<Result<RecordVerdict, GatewayError>, Never>)
        /// A caller who handed in several proposals; this one is at `place` among them.
        case callerOfMany(LedgerAnswers, place: Int)
        /// Nobody: the caller reads the verdicts of the whole batch.
        case nobody
    }

    let proposal: IssuanceProposal
    let deadline: ContinuousClock.Instant
    private let asker: Asker

    init(_ proposal: IssuanceProposal, deadline: ContinuousClock.Instant, for asker: Asker) {
        self.proposal = proposal
        self.deadline = deadline
        self.asker = asker
    }

    func answer(_ result: Result<RecordVerdict, GatewayError>) {
        switch asker {
        case .caller(let continuation): continuation.resume(returning: result)
        case .callerOfMany(let answers, let place): answers.put(result, at: place)
        case .nobody: break
        }
    }
}
