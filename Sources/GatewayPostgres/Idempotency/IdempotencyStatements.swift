import Foundation
import GatewayCore
import LibPQ

/// Statements about requests with idempotency keys.
enum IdempotencyStatements {
    /// What is asked for, with identifiers that a new row and claim get.
    struct Claiming: Sendable {
        var request: IdempotentRequest
        var id: UUID
        var attempt: UUID
    }

    /// What is known.
    struct Known: Sendable {
        var verdict: String
        var id: UUID?
        /// Which attempt may act; `nil` where none may.
        var attempt: UUID?
        /// Seconds.
        var retryAfter: Int32
        var issuances: [UUID]
        var sealed: SealedBytes?
    }

    static let claim = Statement<Claiming, Known>(
        """
        SELECT verdict, id, attempt, retry_after, issuance_ids, sealed, key_id
        FROM claim_idempotency_key($1, $2, $3, $4, $5, $6)
        """
    ) {
        [
            $0.id, $0.attempt, $0.request.caller.rawValue, $0.request.route, $0.request.keyDigest,
            $0.request.bodyDigest,
        ]
    } decode: { row throws(PostgresError) in
        var known = Known(
            verdict: try row.decode(0), id: try row.decode(1), attempt: try row.decode(2),
            retryAfter: try row.decode(3),
            issuances: try row.decode(4, as: [UUID]?.self) ?? [])
        if let bytes = try row.decode(5, as: [UInt8]?.self), let keyID = try row.decode(6, as: String?.self) {
            known.sealed = SealedBytes(bytes: bytes, keyID: keyID)
        }
        return known
    }

    static let finish = Statement<(claim: IdempotencyClaim, sealed: SealedBytes?), Void>(
        """
        UPDATE idempotency_keys SET answered_at = clock_timestamp(), sealed = $3, key_id = $4
        WHERE id = $1 AND attempt = $2
        """
    ) { [$0.claim.id, $0.claim.attempt, $0.sealed?.bytes, $0.sealed?.keyID] }

    /// What came to nothing leaves nothing; what did not is found interrupted by the next request.
    static let abandon = Statement<IdempotencyClaim, Void>(
        """
        WITH ended AS (
            UPDATE idempotency_keys SET claimed_until = clock_timestamp()
            WHERE id = $1 AND attempt = $2 AND answered_at IS NULL
                AND (changed_at IS NOT NULL OR issuance_ids <> '{}')
        )
        DELETE FROM idempotency_keys
        WHERE id = $1 AND attempt = $2 AND answered_at IS NULL AND changed_at IS NULL AND issuance_ids = '{}'
        """
    ) { [$0.id, $0.attempt] }

    /// Says in the transaction of a change that the change was made for a claim.
    static let mark = Statement<IdempotencyClaim, Void>(
        """
        UPDATE idempotency_keys SET changed_at = clock_timestamp(), claimed_until = idempotency_claim_end()
        WHERE id = $1 AND attempt = $2
        """
    ) { [$0.id, $0.attempt] }

    /// Says of claims that somebody works for them still. A row that is locked is one that somebody works with.
    static let renew = Statement<[IdempotencyClaim], Void>(
        """
        UPDATE idempotency_keys k SET claimed_until = idempotency_claim_end()
        WHERE k.id = ANY (ARRAY(
            SELECT o.id FROM unnest($1::uuid[], $2::uuid[]) AS c (id, attempt)
            JOIN idempotency_keys o ON o.id = c.id AND o.attempt = c.attempt
            WHERE o.answered_at IS NULL
            FOR UPDATE OF o SKIP LOCKED
        ))
        """
    ) { [$0.map(\.id), $0.map(\.attempt)] }

    /// Records a batch for a claim, or proves that it is on record.
    static let record = Statement<(claim: IdempotencyClaim, call: RecordBatch.Call), OnceAnswer>(
        """
        SELECT refusal, on_record, verdicts, uses, resets_in, ahead FROM record_issuances_once(
            $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23,
            $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34, $35, $36, $37, $38
        )
        """
    ) { values, parameters throws(PostgresError) in
        let (claim, call) = values
        try claim.id.encode(into: &parameters)
        try claim.attempt.encode(into: &parameters)
        try call.batch.write(sentAt: call.clock, to: &parameters)
    } decode: { row throws(PostgresError) in
        OnceAnswer(
            refusal: try row.decode(0), onRecord: try row.decode(1),
            recording: .init(
                verdicts: try row.decode(2), uses: try row.decode(3), resetsIn: try row.decode(4),
                ahead: try row.decode(5)))
    }

    /// What the database said of a batch for a claim.
    struct OnceAnswer: Sendable {
        /// Why the claim may not act; `nil` where it may.
        let refusal: String?
        /// What is on record, where nothing was done since that is some of the batch; else `nil`.
        let onRecord: [UUID]?
        /// What was done. An item that was on record before is 0 where it was proved, -1 where it is stale, -2 where it would
        /// be another one now; then there are no uses.
        let recording: RecordBatch.Answer
    }

    /// Removes keys past their time; those that somebody uses at the moment stay for the next round.
    static let prune = Statement<Int32, Void>(
        """
        DELETE FROM idempotency_keys k
        WHERE k.id = ANY (ARRAY(
            SELECT o.id FROM idempotency_keys o
            WHERE o.created_at < clock_timestamp() - interval '24 hours'
            LIMIT $1
            FOR UPDATE SKIP LOCKED
        ))
        """
    ) { [$0] }
}
