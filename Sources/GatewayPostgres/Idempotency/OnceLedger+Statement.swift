import FoundationEssentials
import GatewayCore
import LibPQ

extension OnceLedger {
    /// Records a batch for a claim, or proves again the decisions that are on record.
    static let recordOnce = Statement<(claim: IdempotencyClaim, call: RecordBatch.Call), Answer>(
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
        Answer(
            refusal: try row.next(), onRecord: try row.next(),
            recording: .init(
                verdicts: try row.next(), uses: try row.next(), resetsIn: try row.next(), ahead: try row.next()))
    }

    /// The database's answer to a batch for a claim.
    struct Answer: Sendable {
        /// Why the claim may not act; `nil` if it may.
        let refusal: String?
        /// The issuances on record, if they stopped the call: they are only some of the items, or were signed at
        /// another instant. Nothing was done then. Otherwise `nil`.
        let onRecord: [UUID]?
        /// The result of the recording. Items that were on record before have no uses, and one of these verdicts: 0
        /// proved, -1 stale, -2 different from the record or of a bucket that was changed since.
        let recording: RecordBatch.Answer
    }
}
