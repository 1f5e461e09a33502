-- Ends reservations and gives back what was not used, in one transaction.
--
-- Reservations are locked before counters, as a reset does it; the policy lock is not taken. A reservation that another
-- session holds is passed over and stays as it is, so that the others need not wait: a reset may hold it for half a
-- minute. If it is still there when its lease ends, the store is asked about it again.
--
--   p_issuance_ids, p_quota_ids  the reservations
--   p_proofs         for each, why nothing arrived: 'absent' or 'older', as the store tells of the key; 'left-out' for
--                    a part that its upload was completed without or that was discarded; NULL where something may have
--                    arrived
--   p_is_final       for each, whether it ends; else it is looked at again after the delay, and not before an upload of
--                    that size has had its time, at 64 KiB a second
--   p_delay_seconds  the least delay; it is at least a sixteenth of the time since the link died
-- Result: none.
-- Locks: the reservations that are free; then the counters. Callers: the gateway's role. Errors: none.
CREATE OR REPLACE FUNCTION settle_reservations(
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
        SELECT r.issuance_id, r.quota_id, r.policy_seq, r.bucket, r.credential_id, f.proof, f.is_final
        FROM reservations r
        JOIN findings f ON f.issuance_id = r.issuance_id AND f.quota_id = r.quota_id
        FOR UPDATE OF r SKIP LOCKED
    ),
    -- What the log tells since the oldest of the decisions is read once. Each reservation is judged by what came after
    -- its own.
    decisions AS (
        SELECT m.policy_seq, m.bucket, m.credential_id FROM mine m WHERE m.is_final AND m.proof IS NOT NULL
    ),
    scopes AS (
        SELECT 'buckets' AS scope
        UNION
        SELECT 'bucket:' || d.bucket FROM decisions d
        UNION
        SELECT 'credential:' || d.credential_id FROM decisions d
    ),
    changes AS (
        SELECT s.scope, max(l.seq) AS last_seq
        FROM policy_log l
        CROSS JOIN LATERAL unnest(l.scopes) AS s (scope)
        WHERE l.seq > (SELECT min(d.policy_seq) FROM decisions d) AND s.scope IN (SELECT o.scope FROM scopes o)
        GROUP BY s.scope
    ),
    changed AS MATERIALIZED (
        SELECT array_agg(c.scope) AS scopes, array_agg(c.last_seq) AS last_seqs FROM changes c
    ),
    postponed AS (
        UPDATE reservations r
        SET check_at = greatest(
            clock_timestamp() + greatest(make_interval(secs => p_delay_seconds), (clock_timestamp() - r.dead_at) / 16),
            r.dead_at + make_interval(secs => r.amount / 65536.0)
        )
        FROM mine m
        WHERE NOT m.is_final AND r.issuance_id = m.issuance_id AND r.quota_id = m.quota_id
    ),
    ended AS (
        DELETE FROM reservations r
        USING mine m, changed c
        WHERE m.is_final AND r.issuance_id = m.issuance_id AND r.quota_id = m.quota_id
        RETURNING r.quota_id, r.holder, r.period_start,
            CASE
                WHEN m.proof IN ('absent', 'older', 'left-out')
                    AND can_give_back(r, m.proof, c.scopes, c.last_seqs) THEN r.amount
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
