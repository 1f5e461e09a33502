-- Deletes tickets that ended a day ago. prune_counters deletes what was counted of them.
--
--   p_now   the caller's clock: of it and the server's, the earlier one counts
--   p_most  how many rows to delete at most
-- Result: how many rows were deleted. Locks: the rows; it skips those that others hold. Runs with the owner's rights.
-- Callers: the gateway's role. Errors: none.
CREATE OR REPLACE FUNCTION prune_tickets(p_now timestamptz, p_most integer) RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = public, pg_temp
AS $$
DECLARE
    v_before timestamptz := least(p_now, clock_timestamp()) - interval '1 day';
    v_count integer;
BEGIN
    DELETE FROM tickets t
    WHERE t.id = ANY (ARRAY(
        SELECT o.id FROM tickets o
        WHERE o.expires_at < v_before
        ORDER BY o.expires_at
        LIMIT p_most
        FOR UPDATE SKIP LOCKED
    ));
    GET DIAGNOSTICS v_count = ROW_COUNT;
    RETURN v_count;
END
$$;
