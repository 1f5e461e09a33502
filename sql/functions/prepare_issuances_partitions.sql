-- Prepares the ledger's partitions for today and some days ahead.
--
--   p_days_ahead  0 to 366
-- Result: how many partitions were created. Locks: those of create_issuances_partition. Runs with the owner's rights.
-- Callers: the gateway's role; 'sluice migrate'.
-- Errors: invalid_parameter_value for another number of days; those of create_issuances_partition.
CREATE OR REPLACE FUNCTION prepare_issuances_partitions(p_days_ahead integer) RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = public, pg_temp
AS $$
DECLARE
    v_today date := (clock_timestamp() AT TIME ZONE 'UTC')::date;
    v_made integer := 0;
BEGIN
    IF p_days_ahead NOT BETWEEN 0 AND 366 THEN
        RAISE EXCEPTION 'days ahead must be 0 to 366' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    FOR i IN 0..p_days_ahead LOOP
        IF create_issuances_partition(v_today + i) THEN
            v_made := v_made + 1;
        END IF;
    END LOOP;
    RETURN v_made;
END
$$;
