import Foundation
import GatewayCore
import LibPQ
import Logging

/// The ledger for a request with an idempotency key: what is on record is proved and compared, the rest recorded, in one
/// transaction with the row of the key. However often the request is sent, and whenever a gateway dies, each of its issuances is
/// recorded and charged once.
struct OnceLedger: IssuanceLedger {
    let claim: IdempotencyClaim
    let pool: PostgresPool
    let base: any IssuanceLedger
    let clock: LedgerClock
    let logger: Logger

    func record(
        _ proposals: [IssuanceProposal], deadline: ContinuousClock.Instant
    ) async -> [Result<RecordVerdict, GatewayError>] {
        guard !proposals.isEmpty else { return [] }
        do {
            return try await pool.withTransaction(deadline: deadline) { transaction in
                try record(proposals, in: transaction)
            }
        } catch let error as GatewayError {
            return proposals.map { _ in .failure(error) }
        } catch {
            logger.error("issuances not recorded once", metadata: ["reason": "\(error)"])
            let refusal = (error as? PostgresError)?.asGatewayError ?? .unavailable(retryAfter: 1)
            return proposals.map { _ in .failure(refusal) }
        }
    }

    func count(_ denial: Denial) {
        base.count(denial)
    }

    private func record(
        _ proposals: [IssuanceProposal], in transaction: borrowing PostgresTransaction
    ) throws -> [Result<RecordVerdict, GatewayError>] {
        // Before the counters of quotas, which nobody may hold who waits for a row of a key.
        guard let recorded = try transaction.execute(IdempotencyStatements.lock, claim).first else {
            throw GatewayError.idempotency(.answerGone)
        }
        var verdicts: [Result<RecordVerdict, GatewayError>?] = Array(repeating: nil, count: proposals.count)
        var repeated: [Int] = []
        var new: [Int] = []
        for (place, proposal) in proposals.enumerated() {
            if recorded.contains(proposal.id) {
                repeated.append(place)
            } else if recorded.contains(where: proposal.id.hasSameTag) {
                // Another request with the key came first, with a signature of another instant.
                verdicts[place] = .failure(.idempotency(.inFlight(retryAfter: 1)))
            } else {
                new.append(place)
            }
        }
        for (place, verdict) in zip(repeated, try Self.proved(repeated.map { proposals[$0] }, in: transaction)) {
            verdicts[place] = verdict
        }
        for (place, verdict) in zip(new, try recordedNow(new.map { proposals[$0] }, in: transaction)) {
            verdicts[place] = .success(verdict)
        }
        return verdicts.map { $0 ?? .failure(.unavailable(retryAfter: 1)) }
    }

    /// Records what is not on record yet.
    private func recordedNow(
        _ proposals: [IssuanceProposal], in transaction: borrowing PostgresTransaction
    ) throws -> [RecordVerdict] {
        guard !proposals.isEmpty else { return [] }
        let entries = proposals.map { LedgerEntry($0, deadline: .now, for: .nobody) }
        var verdicts: [RecordVerdict] = []
        for batch in RecordBatch.batches(of: entries) {
            guard let answer = try transaction.execute(batch.statement, (batch, clock)).first else {
                throw PostgresError.decoding(column: 0, reason: "no answer")
            }
            let outcome = try batch.outcome(by: answer)
            clock.note(outcome)
            guard case .verdicts(let found) = outcome else {
                throw GatewayError.clockDiffers(retryAfter: LedgerClock.retryAfter)
            }
            verdicts += found
        }
        let ids = zip(proposals, verdicts).compactMap { proposal, verdict in
            if case .recorded = verdict { proposal.id } else { nil }
        }
        if !ids.isEmpty { try transaction.perform(IdempotencyStatements.addIssuances, (claim.id, ids)) }
        return verdicts
    }

    /// Proves what is on record, as recording does, and compares; what is left of quotas is not told again.
    private static func proved(
        _ proposals: [IssuanceProposal], in transaction: borrowing PostgresTransaction
    ) throws -> [Result<RecordVerdict, GatewayError>] {
        guard !proposals.isEmpty else { return [] }
        let batch = RecordBatch(proposals)
        try transaction.perform(IdempotencyStatements.shareLock, ())
        guard let verdicts = try transaction.execute(IdempotencyStatements.staleness, batch).first,
            verdicts.count == proposals.count
        else { throw PostgresError.decoding(column: 0, reason: "the answer does not fit the batch") }
        let unchanged = Set(try transaction.execute(IdempotencyStatements.unchanged, batch))
        return zip(proposals, verdicts).map { proposal, verdict in
            guard verdict == 0 else { return .success(.stale) }
            guard unchanged.contains(proposal.id) else { return .failure(.idempotency(.answerGone)) }
            return .success(.recorded(remaining: []))
        }
    }
}
