-- Whether the ledger supports what the store's answer proves of a reservation: that none of its bytes arrived.
--
-- The bucket must be the one that the upload was permitted to: at the same store, of the same owner, with the same
-- settings. So no line of the log since the decision may name it or its credential, and where the log no longer reaches
-- back to the decision, the answer is no. A line of 'all' names the buckets and credentials that it touches, or
-- 'buckets' for any. An update of the schema touches none. A part that a client uploads with a signature of the gateway
-- lies under no key until its upload is completed, and a signature for an object may also be one for a part. An object
-- made in parts may bear the time at which the upload began, and so hide that it replaced a younger one. A credential
-- that permitted to delete the object at any time since may have been used to delete it, and so to make it absent, or
-- to bring an older version back. Where prune_deletions may have removed such a credential, the answer is no.
--
-- A part that its upload was completed without, or that the store discarded, lies under no key, so only the bucket
-- matters.
--
-- The lines of the log since a decision may be many. So the caller reads them once for all its reservations.
--
--   p_held   the reservation
--   p_proof  'absent', 'older' or 'left-out', as for settle_reservations
--   p_scopes, p_last_seqs  of 'buckets', the bucket and the credential, those that a line since the decision names, and
--                          the last line that names each. Other scopes and earlier lines do not matter.
-- Result: whether the reserved bytes can be given back. Locks: none. Callers: settle_reservations. Errors: none.
CREATE OR REPLACE FUNCTION can_give_back(
    p_held reservations, p_proof text, p_scopes text[], p_last_seqs bigint[]
) RETURNS boolean
LANGUAGE sql STABLE
AS $$
    SELECT (p_proof = 'left-out') = (p_held.delivery = 'multipart-part')
        AND EXISTS (
            SELECT FROM buckets b
            WHERE b.name = p_held.bucket AND (p_proof = 'left-out' OR NOT b.external_deletions)
        )
        AND EXISTS (SELECT FROM policy_log l WHERE l.seq = p_held.policy_seq)
        AND NOT EXISTS (
            SELECT FROM unnest(p_scopes, p_last_seqs) AS c (scope, last_seq)
            WHERE c.last_seq > p_held.policy_seq
                AND c.scope IN ('buckets', 'bucket:' || p_held.bucket, 'credential:' || p_held.credential_id)
        )
        AND (p_proof = 'left-out' OR (
            p_held.dead_at > statement_timestamp() - interval '24 days'
            AND NOT EXISTS (
                SELECT FROM beginnings(p_held.object_key) AS b (text)
                -- The limit makes each beginning a lookup of its own.
                CROSS JOIN LATERAL (
                    SELECT FROM deletions d
                    WHERE d.bucket = p_held.bucket AND d.object_key = b.text COLLATE "C"
                        AND d.dead_at > p_held.issued_at - interval '1 hour'
                    LIMIT 1
                ) d
            )
            AND NOT EXISTS (
                SELECT FROM remote_uploads u
                WHERE u.bucket = p_held.bucket AND u.object_key = p_held.object_key
                    AND (p_proof = 'older' OR p_held.delivery = 'remote-signature')
            )
            AND NOT EXISTS (
                SELECT FROM multipart_uploads u
                WHERE p_proof = 'older' AND u.bucket = p_held.bucket AND u.object_key = p_held.object_key
                    AND u.created_at < p_held.dead_at + interval '1 hour'
                    AND (
                        u.state NOT IN ('completed', 'aborted')
                        -- Among them are those that were given up, which the store may still have.
                        OR u.state = 'aborted' AND u.may_be_complete
                        OR u.expires_at > p_held.issued_at - interval '1 hour'
                    )
            )
        ));
$$;
