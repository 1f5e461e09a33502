-- Deletes counters of periods that have ended or whose quota or ticket is gone.
--
-- Besides the counters that it deletes, it reads one of each quota and ticket that has any.
--
--   p_now   the caller's clock: of it and the server's, the earlier one counts
--   p_most  how many rows to delete at most
-- Result: how many rows were deleted. Locks: the rows; it skips those that others hold. Runs with the owner's rights.
-- Callers: the gateway's role. Errors: none.
CREATE OR REPLACE FUNCTION prune_counters(p_now timestamptz, p_most integer) RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = public, pg_temp
-- Where most counters are of one quota, the planner would read all to find those that are over.
SET enable_seqscan = off
AS $$
DECLARE
    -- An hour late, since a recording of the period's last instant may still be under way.
    v_now timestamptz := least(p_now, clock_timestamp()) - interval '1 hour';
    v_count integer;
BEGIN
    WITH RECURSIVE counted (id) AS (
        (SELECT u.quota_id FROM quota_usage u ORDER BY u.quota_id LIMIT 1)
        UNION ALL
        SELECT n.quota_id
        FROM counted c
        CROSS JOIN LATERAL (
            SELECT u.quota_id FROM quota_usage u WHERE u.quota_id > c.id ORDER BY u.quota_id LIMIT 1
        ) n
    )
    DELETE FROM quota_usage u
    USING (
        SELECT o.quota_id, o.holder, o.period_start
        FROM counted c
        LEFT JOIN quotas q ON q.id = c.id
        CROSS JOIN LATERAL (
            SELECT o.quota_id, o.holder, o.period_start
            FROM quota_usage o
            WHERE o.quota_id = c.id
                AND o.period_start < CASE
                    WHEN q.id IS NOT NULL THEN quota_period_start(q.period, v_now)
                    WHEN EXISTS (SELECT FROM tickets t WHERE t.id = c.id) THEN '-infinity'
                    ELSE 'infinity'
                END
            LIMIT p_most
            FOR UPDATE SKIP LOCKED
        ) o
        LIMIT p_most
    ) old
    WHERE u.quota_id = old.quota_id AND u.holder = old.holder AND u.period_start = old.period_start;
    GET DIAGNOSTICS v_count = ROW_COUNT;
    RETURN v_count;
END
$$;
