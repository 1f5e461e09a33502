-- Makes sure that the ledger has a partition for a day (UTC).
--
-- The partition is created beside the ledger and attached with a check constraint that proves its bounds: attaching
-- then takes no lock that an issuance would wait for.
--
--   p_day  the day
-- Result: whether it was created. Locks: 'partitions'; SHARE UPDATE EXCLUSIVE on issuances. Runs with the owner's
-- rights.
-- Callers: the owner; prepare_issuances_partitions. Errors: lock_not_available after two seconds.
CREATE OR REPLACE FUNCTION create_issuances_partition(p_day date) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = public, pg_temp
SET timezone = 'UTC'
SET lock_timeout = '2s'
AS $$
DECLARE
    v_name text := 'issuances_' || to_char(p_day, 'YYYYMMDD');
    v_from timestamptz := p_day::timestamptz;
    v_to timestamptz := (p_day + 1)::timestamptz;
BEGIN
    PERFORM pg_advisory_xact_lock(advisory_lock('partitions'));
    IF to_regclass('public.' || quote_ident(v_name)) IS NOT NULL THEN
        RETURN false;
    END IF;
    EXECUTE format('CREATE TABLE public.%I (LIKE public.issuances INCLUDING ALL)', v_name);
    EXECUTE format(
        'ALTER TABLE public.%I ADD CONSTRAINT issued_on_day CHECK (issued_at >= %L AND issued_at < %L)',
        v_name, v_from, v_to
    );
    EXECUTE format(
        'ALTER TABLE public.issuances ATTACH PARTITION public.%I FOR VALUES FROM (%L) TO (%L)', v_name, v_from, v_to
    );
    EXECUTE format('ALTER TABLE public.%I DROP CONSTRAINT issued_on_day', v_name);
    RETURN true;
END
$$;
