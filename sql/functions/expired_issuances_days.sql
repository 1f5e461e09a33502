-- Lists the days of the ledger that are past retention, oldest first.
--
-- At least 32 days are kept, so that the counters of a month can be recomputed.
--
--   p_keep_days  the retention in days
--   p_now        the caller's clock: of it and the server's, the earlier one counts
-- Result: days (UTC) that have a partition. Locks: none. Callers: the gateway's role; the functions that empty and drop
-- days.
-- Errors: invalid_parameter_value for fewer than 32 days.
CREATE OR REPLACE FUNCTION expired_issuances_days(p_keep_days integer, p_now timestamptz) RETURNS SETOF date
LANGUAGE plpgsql STABLE
SET search_path = public, pg_temp
AS $$
BEGIN
    IF p_keep_days < 32 THEN
        RAISE EXCEPTION 'the ledger keeps at least 32 days' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    RETURN QUERY
        SELECT p.day
        FROM issuances_partitions() p
        WHERE p.day < (least(p_now, clock_timestamp()) AT TIME ZONE 'UTC')::date - p_keep_days
        ORDER BY p.day;
END
$$;
