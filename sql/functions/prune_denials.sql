-- Deletes old counts of refusals.
--
--   p_keep_days  how long they are kept, at least a day
--   p_now        the caller's clock: of it and the server's, the earlier one counts
--   p_most       how many rows to delete at most
-- Result: how many rows were deleted. Locks: the rows; it skips those that others hold. Runs with the owner's rights.
-- Callers: the gateway's role. Errors: none.
CREATE OR REPLACE FUNCTION prune_denials(p_keep_days integer, p_now timestamptz, p_most integer) RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = public, pg_temp
AS $$
DECLARE
    v_before timestamptz := least(p_now, clock_timestamp()) - make_interval(days => greatest(p_keep_days, 1));
    v_count integer;
BEGIN
    DELETE FROM denials d
    WHERE d.ctid = ANY (ARRAY(
        SELECT o.ctid FROM denials o
        WHERE o.minute < v_before
        ORDER BY o.minute
        LIMIT p_most
        FOR UPDATE SKIP LOCKED
    ));
    GET DIAGNOSTICS v_count = ROW_COUNT;
    RETURN v_count;
END
$$;
