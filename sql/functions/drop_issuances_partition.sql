-- Takes the emptied partition of a day past retention out of the ledger and drops it.
--
-- DETACH CONCURRENTLY cannot run inside a function, and the gateway's role owns no table. A plain DETACH changes a few
-- catalogue rows but needs the ledger's exclusive lock. It is requested for a tenth of a second at most, so that no
-- issuance waits longer. Nobody may be summing up meanwhile, since that reads the ledger for longer.
--
--   p_day        the day
--   p_keep_days  the retention, at least 32 days
--   p_now        the caller's clock: of it and the server's, the earlier one counts
-- Result: true; false where a lock was not free, to be tried again later, or where the day has no partition, since
-- another gateway dropped it.
-- Locks: 'sums'; ACCESS EXCLUSIVE on issuances. Runs with the owner's rights. Callers: the gateway's role.
-- Errors: invalid_parameter_value for a day within retention; object_not_in_prerequisite_state where it is not empty.
CREATE OR REPLACE FUNCTION drop_issuances_partition(p_day date, p_keep_days integer, p_now timestamptz) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = public, pg_temp
SET lock_timeout = '100ms'
AS $$
DECLARE
    v_name text := 'issuances_' || to_char(p_day, 'YYYYMMDD');
    v_is_empty boolean;
BEGIN
    PERFORM pg_advisory_xact_lock(advisory_lock('sums'));
    IF NOT EXISTS (SELECT FROM issuances_partitions() p WHERE p.day = p_day) THEN
        RETURN false;
    END IF;
    IF p_day NOT IN (SELECT expired_issuances_days(p_keep_days, p_now)) THEN
        RAISE EXCEPTION 'the day % is not past retention', p_day USING ERRCODE = 'invalid_parameter_value';
    END IF;
    EXECUTE format('SELECT NOT EXISTS (SELECT FROM public.%I)', v_name) INTO STRICT v_is_empty;
    IF NOT v_is_empty THEN
        RAISE EXCEPTION 'the partition of % is not empty', p_day USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    EXECUTE format('ALTER TABLE public.issuances DETACH PARTITION public.%I', v_name);
    EXECUTE format('DROP TABLE public.%I', v_name);
    PERFORM forget_sums(p_day::timestamp AT TIME ZONE 'UTC');
    RETURN true;
EXCEPTION WHEN lock_not_available THEN
    RETURN false;
END
$$;
