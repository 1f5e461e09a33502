-- Deletes counters of periods that have ended or whose quota or ticket is gone, tickets that ended a day ago, and old
-- counts of refusals.
--
--   p_keep_denials_days  how long counts of refusals are kept, at least a day
--   p_now                the caller's clock: of it and the server's, the earlier one counts
--   p_most               how many rows of each kind to delete at most
-- Result: how many rows were deleted. Locks: the rows; it skips those that others hold. Runs with the owner's rights.
-- Callers: the gateway's role. Errors: none.
CREATE OR REPLACE FUNCTION prune_counters(p_keep_denials_days integer, p_now timestamptz, p_most integer) RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = public, pg_temp
AS $$
DECLARE
    v_now timestamptz := least(p_now, clock_timestamp());
    v_usage integer;
    v_tickets integer;
    v_denials integer;
BEGIN
    DELETE FROM tickets t
    WHERE t.id = ANY (ARRAY(
        SELECT o.id FROM tickets o
        WHERE o.expires_at < v_now - interval '1 day'
        LIMIT p_most
        FOR UPDATE SKIP LOCKED
    ));
    GET DIAGNOSTICS v_tickets = ROW_COUNT;
    -- An hour late, since a recording of the period's last instant may still be under way.
    DELETE FROM quota_usage u
    USING (
        SELECT o.quota_id, o.holder, o.period_start
        FROM quota_usage o
        LEFT JOIN quotas q ON q.id = o.quota_id
        WHERE (q.id IS NULL AND NOT EXISTS (SELECT FROM tickets t WHERE t.id = o.quota_id))
            OR quota_period_end(q.period, o.period_start) < v_now - interval '1 hour'
        LIMIT p_most
        FOR UPDATE OF o SKIP LOCKED
    ) old
    WHERE u.quota_id = old.quota_id AND u.holder = old.holder AND u.period_start = old.period_start;
    GET DIAGNOSTICS v_usage = ROW_COUNT;
    DELETE FROM denials d
    WHERE d.ctid = ANY (ARRAY(
        SELECT o.ctid FROM denials o
        WHERE o.minute < v_now - make_interval(days => greatest(p_keep_denials_days, 1))
        LIMIT p_most
        FOR UPDATE SKIP LOCKED
    ));
    GET DIAGNOSTICS v_denials = ROW_COUNT;
    RETURN v_usage + v_tickets + v_denials;
END
$$;
