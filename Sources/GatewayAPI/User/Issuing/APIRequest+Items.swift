import GatewayCore
import HTTPTypes

extension APIRequest {
    /// Counts and notes the items of a batch that were not served.
    ///
    /// Decisions have noted why they refused items. Failures come from elsewhere too: from the ledger, from policy, or
    /// from a store. If all that came of the items are failures and refusals, the metrics count the request as failed.
    /// Items of a cancelled request that were not answered for that reason are neither refused nor failed.
    func noteItems<Answer>(_ answers: [Result<Answer, GatewayError>], countedBy metrics: RequestMetrics) {
        let isCancelled = Task.isCancelled
        var isServed = false
        var failures: [RefusalNote] = []
        var failedStatus: Int?
        for answer in answers {
            guard case .failure(let error) = answer else {
                isServed = true
                continue
            }
            guard !isCancelled || error.httpStatus.code != 503 else { continue }
            metrics.refused(code: error.code)
            guard let note = error.refusal, note.reason == .failed else { continue }
            failures.append(note)
            failedStatus = failedStatus ?? error.httpStatus.code
        }
        guard let failedStatus else { return }
        notes.note(failures: failures)
        if !isServed { notes.note(statusOfItems: failedStatus) }
    }
}
