-- Deletes uploads in parts that ended long ago.
--
-- can_give_back relies on these days: a link lives up to 8 days with its grace, and a reservation is judged up to 24
-- days after that.
--
--   p_keep_days  how long they are kept after they expire, at least 33 days
--   p_now        the caller's clock: of it and the server's, the earlier one counts
--   p_most       how many rows to delete at most
-- Result: how many were deleted. Locks: the rows; it skips those that others hold. Runs with the owner's rights.
-- Callers: the gateway's role. Errors: none.
CREATE OR REPLACE FUNCTION prune_multipart_uploads(p_keep_days integer, p_now timestamptz, p_most integer) RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = public, pg_temp
AS $$
DECLARE
    v_before timestamptz := least(p_now, clock_timestamp()) - make_interval(days => greatest(p_keep_days, 33));
    v_count integer;
BEGIN
    DELETE FROM multipart_uploads u
    WHERE u.id = ANY (ARRAY(
        SELECT o.id FROM multipart_uploads o
        WHERE o.state IN ('completed', 'aborted') AND o.expires_at < v_before
        ORDER BY o.expires_at
        LIMIT p_most
        FOR UPDATE SKIP LOCKED
    ));
    GET DIAGNOSTICS v_count = ROW_COUNT;
    RETURN v_count;
END
$$;
