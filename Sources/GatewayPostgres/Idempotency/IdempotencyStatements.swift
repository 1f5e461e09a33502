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
        var claimSeconds: Int32
    }

    /// What is known.
    struct Known: Sendable {
        var verdict: String
        var id: UUID?
        var issuances: [UUID]
        var sealed: SealedBytes?
    }

    static let claim = Statement<Claiming, Known>(
        "SELECT verdict, id, issuance_ids, sealed, key_id FROM claim_idempotency_key($1, $2, $3, $4, $5, $6, $7)"
    ) {
        [
            $0.id, $0.attempt, $0.request.caller.rawValue, $0.request.route, $0.request.keyDigest,
            $0.request.bodyDigest, $0.claimSeconds,
        ]
    } decode: { row throws(PostgresError) in
        var known = Known(
            verdict: try row.decode(0), id: try row.decode(1), issuances: try row.decode(2, as: [UUID]?.self) ?? [])
        if let bytes = try row.decode(3, as: [UInt8]?.self), let keyID = try row.decode(4, as: String?.self) {
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
        "UPDATE idempotency_keys SET changed_at = clock_timestamp() WHERE id = $1 AND attempt = $2"
    ) { [$0.id, $0.attempt] }

    /// Keeps other requests with the key from recording, and gives what is on record.
    static let lock = Statement<IdempotencyClaim, [UUID]>(
        "SELECT issuance_ids FROM idempotency_keys WHERE id = $1 FOR UPDATE"
    ) {
        [$0.id]
    } decode: { row throws(PostgresError) in
        try row.decode(0)
    }

    static let addIssuances = Statement<(id: UUID, issuances: [UUID]), Void>(
        "UPDATE idempotency_keys SET issuance_ids = issuance_ids || $2::uuid[] WHERE id = $1"
    ) { [$0.id, $0.issuances] }

    /// Waits for changes of policy that are being made, as recording does; a statement of its own, so that the next one sees
    /// them.
    static let shareLock = Statement<Void, Void>("SELECT pg_advisory_xact_lock_shared(7310868744)") { _ in [] }

    /// Whether decisions still stand: 0, or -1 where policy changed since.
    static let staleness = Statement<RecordBatch, [Int32]>("SELECT stale_verdicts($1, $2, $3, $4, $5, $6)") {
        batch, parameters throws(PostgresError) in
        try batch.writeProofs(to: &parameters)
    } decode: { row throws(PostgresError) in
        try row.decode(0)
    }

    /// Those of some issuances that are on record as they are now decided again.
    static let unchanged = Statement<RecordBatch, UUID>(
        """
        SELECT i.id
        FROM generate_series(1, cardinality($3::timestamptz[])) AS p
        JOIN issuances i ON i.id = ($1::uuid[])[p][1]
        WHERE i.issued_at > clock_timestamp() - interval '26 hours' AND i.credential_id = ($1::uuid[])[p][3]
            AND i.principal = ($2::text[])[p][1] AND i.delivery = ($2::text[])[p][3]
            AND i.action = ($2::text[])[p][4] AND i.method = ($2::text[])[p][5]
            AND i.bucket = ($2::text[])[p][6] AND i.object_key = ($2::text[])[p][7]
            AND i.content_type IS NOT DISTINCT FROM ($2::text[])[p][8]
            AND i.expires_at = ($3::timestamptz[])[p] AND i.content_md5 IS NOT DISTINCT FROM ($4::bytea[])[p]
            AND i.content_length IS NOT DISTINCT FROM ($5::bigint[])[p]
        """
    ) { batch, parameters throws(PostgresError) in
        try batch.writeRows(to: &parameters)
    } decode: { row throws(PostgresError) in
        try row.decode(0)
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
