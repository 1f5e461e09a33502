import GatewayCore
import LibPQ

/// A proposal on its way into the ledger, and who waits for the verdict on it. It is answered once, by whoever took it
/// out of the queue.
final class LedgerEntry: Sendable {
    /// Who waits.
    enum Asker {
        /// The caller who handed in nothing else.
        case caller(CheckedContinuation<Result<RecordVerdict, GatewayError>, Never>)
        /// The caller who handed in several, this one at a place among them.
        case callerOfMany(LedgerAnswers, place: Int)
        /// Nobody: the caller looks at the batch.
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
