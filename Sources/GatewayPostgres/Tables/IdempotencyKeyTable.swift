import FoundationEssentials
import GatewayCore
import LibPQ

/// The table `idempotency_keys`.
enum IdempotencyKeyTable {
    /// Hours for which a key lives.
    static let hours = 24

    /// The life of a key in SQL.
    static let life = "interval '\(hours) hours'"

    /// A request for a claim, with identifiers for a new row and claim.
    struct Claiming: Sendable {
        var request: IdempotentRequest
        var id: UUID
        var attempt: UUID
    }

    /// The state of a key.
    struct Known: Sendable {
        var verdict: String
        var id: UUID?
        /// The attempt that may act; `nil` if none may.
        var attempt: UUID?
        /// Seconds to wait before trying again.
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
        Known(
            verdict: try row.next(), id: try row.next(), attempt: try row.next(), retryAfter: try row.next(),
            issuances: try row.next(as: [UUID]?.self) ?? [], sealed: try SealedBytes(&row))
    }

    static let finish = Statement<(claim: IdempotencyClaim, sealed: SealedBytes?), Void>(
        """
        UPDATE idempotency_keys SET answered_at = clock_timestamp(), sealed = $3, key_id = $4
        WHERE id = $1 AND attempt = $2
        """
    ) { [$0.claim.id, $0.claim.attempt, $0.sealed?.bytes, $0.sealed?.keyID] }

    /// Ends a claim without an answer. A key whose request had no effect is removed. Otherwise the next request finds
    /// it interrupted.
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

    /// Notes, in the transaction of a change, that the change was made for a claim.
    static let mark = Statement<IdempotencyClaim, Void>(
        """
        UPDATE idempotency_keys SET changed_at = clock_timestamp(), claimed_until = idempotency_claim_end()
        WHERE id = $1 AND attempt = $2
        """
    ) { [$0.id, $0.attempt] }

    /// Extends claims that are still in use. It skips locked rows, since their claims are being used at this moment,
    /// and claims that were given up or ran out.
    static let renew = Statement<[IdempotencyClaim], Void>(
        """
        UPDATE idempotency_keys k SET claimed_until = idempotency_claim_end()
        WHERE k.id = ANY (ARRAY(
            SELECT o.id FROM unnest($1::uuid[], $2::uuid[]) AS c (id, attempt)
            JOIN idempotency_keys o ON o.id = c.id AND o.attempt = c.attempt
            WHERE o.answered_at IS NULL AND o.claimed_until > clock_timestamp()
            FOR UPDATE OF o SKIP LOCKED
        ))
        """
    ) { [$0.map(\.id), $0.map(\.attempt)] }

    /// Removes keys that have expired by the clocks of both gateway and database. Keys in use at this moment stay for
    /// the next round.
    static let prune = Statement<(now: Date, most: Int32), Void>(
        """
        DELETE FROM idempotency_keys k
        WHERE k.id = ANY (ARRAY(
            SELECT o.id FROM idempotency_keys o
            WHERE o.created_at < (SELECT least($1, clock_timestamp()) - \(life))
            ORDER BY o.created_at
            LIMIT $2
            FOR UPDATE SKIP LOCKED
        ))
        """
    ) { [$0.now, $0.most] }
}

extension PostgresTransaction {
    /// Ties a change to the claim of the request's idempotency key, if it has one. Either both are committed or
    /// neither.
    ///
    /// - Throws: `idempotency` if another request now acts for the key. This one must change nothing.
    func mark(_ change: ChangeContext) throws {
        guard let claim = change.claim else { return }
        guard try perform(IdempotencyKeyTable.mark, claim) == 1 else {
            throw GatewayError.idempotency(.inFlight(retryAfter: 1))
        }
    }
}
