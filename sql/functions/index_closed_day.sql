-- Builds one index of one day of the ledger that is over: of the latest day that sum_issuances has passed for an hour
-- and that lacks one of its indexes, of keys, callers and grants.
--
-- Days that are being written have none of these, since they would cost every issuance. While one is built, nobody can
-- write to the day; and as with any long transaction, versions of rows that others replace meanwhile cannot be reused.
--
-- Result: whether an index was built, so that there may be more to do. Locks: 'indexing', if it is free; SHARE on the
-- partition. Runs with the owner's rights. Callers: the gateway's role.
-- Errors: lock_not_available after a tenth of a second, where somebody writes to the day or drops it.
CREATE OR REPLACE FUNCTION index_closed_day() RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = public, pg_temp
SET timezone = 'UTC'
SET lock_timeout = '100ms'
SET maintenance_work_mem = '256MB'
SET max_parallel_maintenance_workers = 0
AS $$
DECLARE
    v_partition text;
    v_column text;
BEGIN
    IF NOT pg_try_advisory_xact_lock(advisory_lock('indexing')) THEN
        RETURN false;
    END IF;
    SELECT d.partition, c.name
    INTO v_partition, v_column
    FROM (
        SELECT 'issuances_' || to_char(d.starts_at, 'YYYYMMDD') AS partition
        FROM summed_days d
        WHERE d.summed_to = d.starts_at + interval '24 hours' AND d.summed_to < clock_timestamp() - interval '1 hour'
    ) d
    CROSS JOIN unnest('{object_key,principal,grant_id}'::text[]) AS c (name)
    WHERE to_regclass('public.' || d.partition) IS NOT NULL
        AND to_regclass('public.' || d.partition || '_' || c.name || '_idx') IS NULL
    ORDER BY d.partition DESC, c.name
    LIMIT 1;
    IF v_partition IS NULL THEN
        RETURN false;
    END IF;
    EXECUTE format('CREATE INDEX %I ON public.%I (%I)', v_partition || '_' || v_column || '_idx', v_partition, v_column);
    RETURN true;
END
$$;
