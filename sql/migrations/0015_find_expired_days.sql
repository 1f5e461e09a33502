-- Finds the days of the ledger that are past retention by the names of its partitions alone: the planner was free to read
-- the date out of the name of any table before it looked whether that was a partition, and then the upkeep failed.

CREATE OR REPLACE FUNCTION expired_issuances_days(p_keep_days integer) RETURNS SETOF date
LANGUAGE plpgsql STABLE
SET search_path = public, pg_temp
AS $$
BEGIN
    IF p_keep_days < 32 THEN
        RAISE EXCEPTION 'the ledger keeps at least 32 days' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    RETURN QUERY
        SELECT p.day
        FROM (
            -- Only CASE keeps the order in which things are looked at.
            SELECT CASE WHEN c.relname ~ '^issuances_[0-9]{8}$' THEN to_date(right(c.relname, 8), 'YYYYMMDD') END AS day
            FROM pg_inherits i
            JOIN pg_class c ON c.oid = i.inhrelid
            WHERE i.inhparent = 'public.issuances'::regclass
        ) p
        WHERE p.day < (clock_timestamp() AT TIME ZONE 'UTC')::date - p_keep_days
        ORDER BY p.day;
END
$$;
