import FoundationEssentials
import GatewayCore
import LibPQ
import Logging

/// The ledger for a request with an idempotency key.
///
/// One statement locks the row of the key, proves and compares the items on record, or records the new ones. However
/// often the request is sent, and whenever a gateway dies, each issuance is recorded and charged once. No lock is held
/// between two statements, so no request waits for a gateway that has stopped.
struct OnceLedger: IssuanceLedger {
    let claim: IdempotencyClaim
    let pool: PostgresPool
    let clock: LedgerClock
    let logger: Logger
    let failed: @Sendable (PostgresError) -> Void

    private typealias Verdict = Result<RecordVerdict, GatewayError>

    func record(
        _ proposals: [IssuanceProposal], deadline: ContinuousClock.Instant
    ) async -> [Result<RecordVerdict, GatewayError>] {
        var verdicts = [Verdict?](repeating: nil, count: proposals.count)
        var onRecord = claim.issuances
        // The second pass handles items on record that the claim did not list.
        for _ in 1...2 {
            var repeated: [Int] = []
            var new: [Int] = []
            for (place, proposal) in proposals.enumerated() where verdicts[place] == nil {
                if onRecord.contains(proposal.id) {
                    repeated.append(place)
                } else if onRecord.contains(where: proposal.id.hasSameTag) {
                    // Another request with the key came first. Its signature is of another instant.
                    verdicts[place] = .failure(Self.inFlight)
                } else {
                    new.append(place)
                }
            }
            for part in Self.parts(repeated, of: proposals) + Self.parts(new, of: proposals) {
                switch await record(part.batch, deadline: deadline) {
                case .done(let found): for (place, verdict) in zip(part.places, found) { verdicts[place] = verdict }
                case .foundOnRecord(let issuances): onRecord = issuances
                }
            }
        }
        return verdicts.map { $0 ?? .failure(Self.inFlight) }
    }

    /// Sends some of the items to the database.
    private func record(_ batch: RecordBatch, deadline: ContinuousClock.Instant) async -> Outcome {
        do {
            let call = (batch: batch, clock: clock)
            let start = ContinuousClock.now
            let answers = try await pool.execute(Self.recordOnce, (claim, call), deadline: deadline)
            guard let answer = answers.first else { throw PostgresError.decoding(column: 0, reason: "no answer") }
            return try outcome(of: batch, by: answer, within: ContinuousClock.now - start)
        } catch {
            logger.report(error, "issuances not recorded once", in: pool.outage, level: .error)
            let reason = error as? PostgresError
            if let reason { failed(reason) }
            let refusal = reason?.asGatewayError ?? .unexpected(error)
            return .done(batch.entries.map { _ in .failure(refusal) })
        }
    }

    /// Proposals that go into one statement, and their places among all proposals.
    private struct Part {
        let places: ArraySlice<Int>
        let batch: RecordBatch
    }

    private static func parts(_ places: [Int], of proposals: [IssuanceProposal]) -> [Part] {
        guard !places.isEmpty else { return [] }
        let entries = places.map { LedgerEntry(proposals[$0], deadline: .now, for: .nobody) }
        var rest = places[...]
        return RecordBatch.batches(of: entries).map { batch in
            defer { rest = rest.dropFirst(batch.entries.count) }
            return Part(places: rest.prefix(batch.entries.count), batch: batch)
        }
    }

    private static var inFlight: GatewayError { .idempotency(.inFlight(retryAfter: 1)) }
}

// MARK: - One statement

extension OnceLedger {
    /// The result of a statement.
    private enum Outcome {
        /// A verdict on each item.
        case done([Verdict])
        /// Nothing was done, because some of the items are among these issuances on record.
        case foundOnRecord([UUID])
    }

    private func outcome(
        of batch: RecordBatch, by answer: Answer, within elapsed: Duration
    ) throws(PostgresError) -> Outcome {
        if let refusal = answer.refusal {
            let error = refusal == "gone" ? GatewayError.idempotency(.answerGone) : Self.inFlight
            return .done(batch.entries.map { _ in .failure(error) })
        }
        if let onRecord = answer.onRecord { return .foundOnRecord(onRecord) }
        if answer.recording.uses == nil, let codes = answer.recording.verdicts, codes.count == batch.entries.count {
            // The quotas' remainders are not reported again.
            return .done(
                codes.map { code in
                    switch code {
                    case 0: .success(.recorded(remaining: []))
                    case -1: .success(.stale)
                    default: .failure(.idempotency(.answerGone))
                    }
                })
        }
        switch try batch.outcome(by: answer.recording) {
        case .verdicts(let verdicts):
            clock.agrees()
            return .done(verdicts.map { .success($0) })
        case .clockDiffers(let ahead):
            let refusal = clock.refusal(ahead: ahead, within: elapsed)
            return .done(batch.entries.map { _ in .failure(refusal) })
        }
    }
}
