-- What is given back of reserved bytes is what provably never arrived, by the store's word and by the ledger.

-- Whether others than the gateway delete objects there.
ALTER TABLE buckets ADD COLUMN external_deletions boolean DEFAULT false NOT NULL;

-- By object, whoever started it, whether its id is known or not.
CREATE INDEX remote_uploads_key_idx ON remote_uploads (bucket, object_key);

DROP FUNCTION settle_reservations;

-- Whether the ledger bears out what the store's answer proves of a reservation. No issuance deletes objects so far; once one
-- does, those of the key since then have to be looked for here.
--
-- The bucket must be the one that the upload was permitted to, at the same store, of the same owner and under the same settings.
-- A part that a client uploads by a signature of ours lies under no key until the upload is completed, and its row does not tell
-- that it is one. What is made in parts may bear the time at which that began, and so hide that it replaced something younger.
CREATE FUNCTION is_unused(
    p_issuance_id uuid, p_bucket text, p_object_key text, p_dead_at timestamptz, p_proof text
) RETURNS boolean
LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT EXISTS (
        SELECT FROM issuances i
        JOIN buckets b ON b.name = p_bucket AND NOT b.external_deletions
        WHERE i.id = p_issuance_id AND i.issued_at > p_dead_at - interval '8 days'
            AND i.issued_at < p_dead_at + interval '1 day'
            AND i.delivery <> 'multipart-part'
            AND NOT EXISTS (
                SELECT FROM policy_log l
                WHERE l.seq > i.policy_seq
                    AND l.scopes && ARRAY['all', 'bucket:' || p_bucket, 'credential:' || i.credential_id] COLLATE "C"
            )
            AND NOT EXISTS (
                SELECT FROM remote_uploads u
                WHERE u.bucket = p_bucket AND u.object_key = p_object_key
                    AND (p_proof = 'older' OR i.delivery = 'remote-signature')
            )
            AND NOT EXISTS (
                SELECT FROM multipart_uploads u
                WHERE p_proof = 'older' AND u.bucket = p_bucket AND u.object_key = p_object_key
                    AND u.created_at < p_dead_at + interval '1 hour'
                    AND (u.state NOT IN ('completed', 'aborted') OR u.expires_at > i.issued_at - interval '1 hour')
            )
    );
END;

-- Ends reservations and gives back what was not used, in one transaction.
--
-- Takes rows in the order in which recordings take them, and never waits for the lock of the policy log. Somebody else's
-- reservations are skipped.
--   p_proofs    per reservation: why nothing arrived: 'absent' and 'older' as the store tells of the key, 'left-out' for a part
--               that its upload ended without; NULL where something may have arrived
--   p_is_final  per reservation: whether it ends; otherwise it is looked at again after a delay, and not before an upload of that
--               size has had its time, at 64 KiB a second
CREATE FUNCTION settle_reservations(
    p_issuance_ids uuid[], p_quota_ids uuid[], p_proofs text[], p_is_final boolean[], p_delay_seconds double precision
) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    v_quota_ids uuid[];
    v_holders text[];
    v_starts timestamptz[];
    v_amounts bigint[];
BEGIN
    WITH findings AS (
        SELECT f.issuance_id, f.quota_id, f.proof, f.is_final
        FROM unnest(p_issuance_ids, p_quota_ids, p_proofs, p_is_final) AS f (issuance_id, quota_id, proof, is_final)
    ),
    mine AS MATERIALIZED (
        SELECT r.issuance_id, r.quota_id, f.proof, f.is_final
        FROM reservations r
        JOIN findings f ON f.issuance_id = r.issuance_id AND f.quota_id = r.quota_id
        FOR UPDATE OF r SKIP LOCKED
    ),
    postponed AS (
        UPDATE reservations r
        SET check_at = greatest(
            clock_timestamp() + make_interval(secs => p_delay_seconds),
            r.dead_at + make_interval(secs => r.amount / 65536.0)
        )
        FROM mine m
        WHERE NOT m.is_final AND r.issuance_id = m.issuance_id AND r.quota_id = m.quota_id
    ),
    ended AS (
        DELETE FROM reservations r
        USING mine m
        WHERE m.is_final AND r.issuance_id = m.issuance_id AND r.quota_id = m.quota_id
        RETURNING r.quota_id, r.holder, r.period_start,
            CASE
                WHEN m.proof = 'left-out' THEN r.amount
                WHEN m.proof IN ('absent', 'older')
                    AND is_unused(r.issuance_id, r.bucket, r.object_key, r.dead_at, m.proof) THEN r.amount
                ELSE 0
            END AS amount
    ),
    given_back AS (
        SELECT e.quota_id, e.holder, e.period_start, sum(e.amount)::bigint AS amount
        FROM ended e
        GROUP BY e.quota_id, e.holder, e.period_start
        HAVING sum(e.amount) > 0
    )
    SELECT array_agg(g.quota_id), array_agg(g.holder), array_agg(g.period_start), array_agg(g.amount)
    INTO v_quota_ids, v_holders, v_starts, v_amounts
    FROM given_back g;

    PERFORM
    FROM quota_usage u
    JOIN unnest(v_quota_ids, v_holders, v_starts) AS s (quota_id, holder, period_start)
        ON u.quota_id = s.quota_id AND u.holder = s.holder AND u.period_start = s.period_start
    ORDER BY u.shared, u.quota_id, u.holder, u.period_start
    FOR UPDATE OF u;

    UPDATE quota_usage u
    SET used = u.used - least(s.amount, u.used), released = u.released + least(s.amount, u.used)
    FROM unnest(v_quota_ids, v_holders, v_starts, v_amounts) AS s (quota_id, holder, period_start, amount)
    WHERE u.quota_id = s.quota_id AND u.holder = s.holder AND u.period_start = s.period_start;
END
$$;

-- Remembers that a user is about to start an upload, and forgets some of those that are older than any of their parts that could
-- still be settled: a part is signed within seven days of the start, and lives seven days.
CREATE OR REPLACE FUNCTION begin_remote_upload(
    p_principal text, p_bucket text, p_object_key text, p_content_type text
) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = public, pg_temp
AS $$
BEGIN
    DELETE FROM remote_uploads u
    WHERE u.id = ANY (ARRAY(
        SELECT o.id FROM remote_uploads o
        WHERE o.started_at < clock_timestamp() - interval '18 days'
        LIMIT 20
        FOR UPDATE SKIP LOCKED
    ));
    INSERT INTO remote_uploads (principal, bucket, object_key, content_type)
    VALUES (p_principal, p_bucket, p_object_key, p_content_type);
END
$$;

-- The time in an identifier of version 7: when the gateway made it, by its clock.
CREATE FUNCTION uuid_instant(p_id uuid) RETURNS timestamptz
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN to_timestamp(('x' || left(replace(p_id::text, '-', ''), 12))::bit(48)::bigint / 1000.0);

-- As before; but an upload is dead by the later of both clocks, that of the gateway and the database's own.
CREATE OR REPLACE VIEW uploads AS
SELECT i.id, i.issued_at, e.expires_at, i.delivery, i.action, i.method, i.principal, i.bucket, i.object_key,
    i.content_type, i.content_md5, coalesce(i.content_length, m.content_length) AS content_length,
    (d.dead_at <= statement_timestamp() OR m.state IN ('aborting', 'aborted')) IS TRUE AS is_dead,
    m.state AS multipart_state, m.etag AS multipart_etag,
    l.finding, l.mismatches, l.source, l.size, l.etag, l.content_type AS found_type, l.found_at,
    t.made_at, t.size AS event_size, t.etag AS event_etag,
    CASE
        WHEN l.finding IN ('landed', 'mismatched') THEN l.finding
        WHEN m.state = 'completed' OR t.made_at IS NOT NULL THEN 'landed'
        WHEN d.dead_at <= statement_timestamp() OR m.state IN ('aborting', 'aborted') THEN 'expired'
        ELSE 'issued'
    END AS state
FROM issuances i
LEFT JOIN multipart_uploads m ON m.id = i.id AND i.delivery = 'multipart-start'
CROSS JOIN LATERAL (SELECT coalesce(m.expires_at, i.expires_at) AS expires_at) e
CROSS JOIN LATERAL (
    SELECT greatest(e.expires_at, i.issued_at + (e.expires_at - uuid_instant(i.id))) AS dead_at
) d
LEFT JOIN landings l ON l.issuance_id = i.id
LEFT JOIN LATERAL (
    SELECT s.made_at, s.size, s.etag FROM store_events s
    WHERE s.bucket = i.bucket AND s.object_key = i.object_key
        AND s.made_at > i.issued_at - interval '30 seconds' AND s.made_at < d.dead_at + interval '15 minutes'
    ORDER BY s.made_at DESC LIMIT 1
) t ON true;
