-- Deletes the oldest lines of policy_log, and gateways that have not been seen for a day.
--
-- A line is kept for 32 days after the next one, since issuances refer to it; for as long as a live gateway has not
-- read it; and for as long as it is the last. What remains has no gaps: a decision is proved by the lines after its
-- own, so none of these may be missing while its own is there. Lines that history refers to leave a row in
-- past_changes.
--
--   p_now   the caller's clock: of it and the server's, the earlier one counts
--   p_most  how many lines to delete at most
-- Result: how many lines were deleted. Locks: 'pruning', if it is free; the rows. Runs with the owner's rights.
-- Callers: the gateway's role. Errors: none.
CREATE OR REPLACE FUNCTION prune_policy_log(p_now timestamptz, p_most integer) RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = public, pg_temp
-- Grants by one change may be all or one: plans by index are right for both, also in the checks of foreign keys.
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
DECLARE
    v_now timestamptz := least(p_now, clock_timestamp());
    v_below bigint;
    v_removed integer;
BEGIN
    DELETE FROM gateways g
    WHERE g.last_seen_at < v_now - interval '1 day'
        -- The clock was set back, and a gateway that runs would have been seen since.
        OR g.last_seen_at > clock_timestamp() + interval '1 day';
    IF NOT pg_try_advisory_xact_lock(advisory_lock('pruning')) THEN
        RETURN 0;
    END IF;
    SELECT least(
        (SELECT max(l.seq) FROM policy_log l),
        (SELECT min(l.seq) FROM policy_log l) + p_most,
        (SELECT min(g.policy_seq) FROM gateways g WHERE is_live_gateway(g.last_seen_at)),
        -- A decision of 32 days ago was made at this line, however old the line was then.
        coalesce((SELECT max(l.seq) FROM policy_log l WHERE l.at <= v_now - interval '32 days'), 0)
    ) INTO v_below;

    INSERT INTO past_changes (tag, seq, at)
    SELECT l.tag, l.seq, l.at
    FROM policy_log l
    WHERE l.seq < v_below
        AND (
            EXISTS (SELECT FROM grants g WHERE g.created_change = l.tag)
            OR EXISTS (SELECT FROM grants g WHERE g.removed_change = l.tag)
            OR EXISTS (SELECT FROM group_member_history h WHERE h.created_change = l.tag)
            OR EXISTS (SELECT FROM group_member_history h WHERE h.removed_change = l.tag)
            OR EXISTS (SELECT FROM storage_credentials s WHERE s.rotated_change = l.tag)
        );
    DELETE FROM policy_changes c USING policy_log l
    WHERE l.seq < v_below AND c.id = l.tag AND NOT EXISTS (SELECT FROM past_changes p WHERE p.tag = l.tag);
    DELETE FROM policy_log l WHERE l.seq < v_below;
    GET DIAGNOSTICS v_removed = ROW_COUNT;
    RETURN v_removed;
END
$$;
