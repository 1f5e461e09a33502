-- Lists the partitions of the ledger.
--
-- Result: the day (UTC) and the table of each. Locks and errors: none. Callers: functions and the gateway's role, about
-- days.
CREATE OR REPLACE FUNCTION issuances_partitions() RETURNS TABLE (day date, partition regclass)
LANGUAGE sql STABLE ROWS 60
AS $$
    -- CASE, so that no date is read from another table's name: conditions have no order.
    SELECT CASE WHEN c.relname ~ '^issuances_[0-9]{8}$' THEN to_date(right(c.relname, 8), 'YYYYMMDD') END,
        c.oid::regclass
    FROM pg_inherits i
    JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'public.issuances'::regclass;
$$;
