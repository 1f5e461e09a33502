-- Deletes old reports of stores, and what was found of uploads past retention.
--
-- No link lives longer than a week: after ten days no upload is left that a report could belong to. What was found and
-- counted of an upload is kept for two days after its retention, and as long as the ledger has its day or an earlier
-- one.
--
--   p_keep_days  how long the ledger is kept, at least 32 days; NULL for ever
--   p_now        the caller's clock: of it and the server's, the earlier one counts
--   p_most       how many rows of each kind to delete at most
-- Result: how many rows were deleted. Locks: the rows; it skips those that others hold. Runs with the owner's rights.
-- Callers: the gateway's role. Errors: none.
CREATE OR REPLACE FUNCTION prune_landings(p_keep_days integer, p_now timestamptz, p_most integer) RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = public, pg_temp
AS $$
DECLARE
    v_events integer;
    v_landings integer;
    v_counted integer;
    v_now timestamptz := least(p_now, clock_timestamp());
    v_end timestamptz := v_now - greatest(p_keep_days, 32) * interval '1 day';
    v_before uuid;
BEGIN
    SELECT least(v_end, min(p.day)::timestamp AT TIME ZONE 'UTC') INTO v_end FROM issuances_partitions() p;
    -- Identifiers begin with the time in milliseconds: this is the least one of its instant.
    v_before := rpad(
        lpad(to_hex(extract(epoch FROM v_end - interval '2 days')::bigint * 1000), 12, '0'), 32, '0')::uuid;
    DELETE FROM store_events e
    WHERE e.ctid = ANY (ARRAY(
        SELECT o.ctid FROM store_events o
        WHERE o.received_at < v_now - interval '10 days'
        ORDER BY o.received_at LIMIT p_most
        FOR UPDATE SKIP LOCKED
    ));
    GET DIAGNOSTICS v_events = ROW_COUNT;
    DELETE FROM landings l
    WHERE p_keep_days IS NOT NULL AND l.issuance_id = ANY (ARRAY(
        SELECT o.issuance_id FROM landings o
        WHERE o.issuance_id < v_before
        ORDER BY o.issuance_id LIMIT p_most
        FOR UPDATE SKIP LOCKED
    ));
    GET DIAGNOSTICS v_landings = ROW_COUNT;
    DELETE FROM landed_uploads l
    WHERE p_keep_days IS NOT NULL AND l.issuance_id = ANY (ARRAY(
        SELECT o.issuance_id FROM landed_uploads o
        WHERE o.issuance_id < v_before
        ORDER BY o.issuance_id LIMIT p_most
        FOR UPDATE SKIP LOCKED
    ));
    GET DIAGNOSTICS v_counted = ROW_COUNT;
    RETURN v_events + v_landings + v_counted;
END
$$;
