-- Deletes what is known of credentials that permitted deletion and ended 33 days ago. can_give_back relies on these
-- days: a link lives up to 8 days with its grace, and a reservation is judged up to 24 days after that.
--
--   p_now   the caller's clock: of it and the server's, the earlier one counts
--   p_most  how many rows to delete at most
-- Result: how many rows were deleted. Locks: the rows; it skips those that others hold. Runs with the owner's rights.
-- Callers: the gateway's role. Errors: none.
CREATE OR REPLACE FUNCTION prune_deletions(p_now timestamptz, p_most integer) RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = public, pg_temp
AS $$
DECLARE
    v_before timestamptz := least(p_now, clock_timestamp()) - interval '33 days';
    v_count integer;
BEGIN
    DELETE FROM deletions d
    WHERE d.ctid = ANY (ARRAY(
        SELECT o.ctid FROM deletions o
        WHERE o.dead_at < v_before
        ORDER BY o.dead_at
        LIMIT p_most
        FOR UPDATE SKIP LOCKED
    ));
    GET DIAGNOSTICS v_count = ROW_COUNT;
    RETURN v_count;
END
$$;
