import Foundation
import GatewayCore
import Synchronization

/// Requests with idempotency keys, in memory. Nothing expires.
final class MemoryIdempotency: IdempotencyStore {
    private struct Row {
        let request: IdempotentRequest
        var claim: IdempotencyClaim
        var isAnswered = false
        /// Whether its claim was given up though something is on record.
        var isInterrupted = false
        var answer: [UInt8]?
    }

    private let rows = Mutex<[Row]>([])
    private let base: any IssuanceLedger
    let calls = Mutex(0)
    /// Called once a key is claimed, before the request learns of it.
    let whenClaimed = Mutex<(@Sendable () -> Void)?>(nil)
    /// Called when a request begins to act for its claim.
    let whenActing = Mutex<(@Sendable () -> Void)?>(nil)

    init(ledger: any IssuanceLedger) {
        base = ledger
    }

    func begin(_ request: IdempotentRequest) async throws(GatewayError) -> IdempotencyState {
        calls.withLock { $0 += 1 }
        let claim = IdempotencyClaim(id: UUID(), attempt: UUID())
        let known = rows.withLock { rows -> Row? in
            let row = rows.first {
                $0.request.keyDigest == request.keyDigest && $0.request.caller == request.caller
                    && $0.request.route == request.route
            }
            if row == nil { rows.append(Row(request: request, claim: claim)) }
            return row
        }
        whenClaimed.withLock { $0 }?()
        // A claim is committed even if its request is cancelled a moment too late for that.
        try refuseIfCancelled()
        guard let known else { return .fresh(claim) }
        guard known.request == request else { throw .idempotency(.otherRequest) }
        if known.isInterrupted { return .interrupted(known.claim) }
        guard known.isAnswered else { throw .idempotency(.inFlight(retryAfter: 1)) }
        return .answered(known.claim, answer: known.answer)
    }

    func finish(_ claim: IdempotencyClaim, answer: [UInt8]?) async throws(GatewayError) {
        try refuseIfCancelled()
        rows.withLock { rows in
            for index in rows.indices where rows[index].claim.id == claim.id {
                rows[index].isAnswered = true
                rows[index].answer = answer
            }
        }
    }

    func abandon(_ claim: IdempotencyClaim) async throws(GatewayError) {
        try refuseIfCancelled()
        rows.withLock { rows in
            rows.removeAll { $0.claim.id == claim.id && !$0.isAnswered && $0.claim.issuances.isEmpty }
            for index in rows.indices where rows[index].claim.id == claim.id { rows[index].isInterrupted = true }
        }
    }

    /// As a pool does, serves no task that was cancelled. Only the begin and the end of a claim ask, so that a test may
    /// cancel its request in between.
    private func refuseIfCancelled() throws(GatewayError) {
        guard !Task.isCancelled else { throw .unavailable(retryAfter: 1) }
    }

    func ledger(for claim: IdempotencyClaim) -> any IssuanceLedger {
        whenActing.withLock { $0 }?()
        return OnceLedger(store: self, claim: claim, base: base)
    }

    /// Records issuances that are not yet recorded, and reports the others as recorded.
    private struct OnceLedger: IssuanceLedger {
        let store: MemoryIdempotency
        let claim: IdempotencyClaim
        let base: any IssuanceLedger

        func record(
            _ proposals: [IssuanceProposal], deadline: ContinuousClock.Instant
        ) async -> [Result<RecordVerdict, GatewayError>] {
            let known = store.issuances(of: claim)
            let new = proposals.filter { !known.contains($0.id) }
            var verdicts = await base.record(new, deadline: deadline)[...]
            store.add(new.map(\.id), to: claim)
            return proposals.map { known.contains($0.id) ? .success(.recorded(remaining: [])) : verdicts.removeFirst() }
        }
    }

    private func issuances(of claim: IdempotencyClaim) -> [UUID] {
        rows.withLock { rows in rows.first { $0.claim.id == claim.id }?.claim.issuances ?? [] }
    }

    private func add(_ ids: [UUID], to claim: IdempotencyClaim) {
        rows.withLock { rows in
            for index in rows.indices where rows[index].claim.id == claim.id { rows[index].claim.issuances += ids }
        }
    }

    /// All kept answers.
    var kept: [UInt8] { rows.withLock { rows in rows.flatMap { $0.answer ?? [] } } }
}
