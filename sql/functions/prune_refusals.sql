-- Deletes refusals that are too old, and the oldest of them where there are too many.
--
--   p_keep_days  how long refusals are kept, at least a day
--   p_keep_rows  how many are kept at most
--   p_now        the caller's clock: of it and the server's, the earlier one counts
--   p_most       how many rows of each kind to delete at most
-- Result: how many rows were deleted. Locks: the rows; it skips those that others hold. Runs with the owner's rights.
-- Callers: the gateway's role. Errors: none.
CREATE OR REPLACE FUNCTION prune_refusals(
    p_keep_days integer, p_keep_rows bigint, p_now timestamptz, p_most integer
) RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = public, pg_temp
AS $$
DECLARE
    v_before timestamptz := least(p_now, clock_timestamp()) - make_interval(days => greatest(p_keep_days, 1));
    v_rows integer;
    v_gaps integer;
BEGIN
    -- Rows are added in the order of their times but for seconds, so the oldest have the lowest ordinals. Ordinals that
    -- were never used make the number of rows smaller than this assumes, never larger.
    DELETE FROM refusals r
    WHERE r.ordinal = ANY (ARRAY(
        SELECT o.ordinal FROM (
            SELECT f.ordinal, f.refused_at FROM refusals f ORDER BY f.ordinal LIMIT p_most FOR UPDATE SKIP LOCKED
        ) o
        WHERE o.refused_at < v_before
            OR o.ordinal <= (SELECT max(l.ordinal) FROM refusals l) - greatest(p_keep_rows, 0)
    ));
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    DELETE FROM refusal_gaps g
    WHERE g.minute = ANY (ARRAY(
        SELECT o.minute FROM refusal_gaps o WHERE o.minute < v_before LIMIT p_most FOR UPDATE SKIP LOCKED
    ));
    GET DIAGNOSTICS v_gaps = ROW_COUNT;
    RETURN v_rows + v_gaps;
END
$$;
