-- Removes the sums of the issuances from an hour on, so that these are summed up again. A day that was over goes on.
--
--   p_hour  when the hour begins (UTC)
-- Result: none. Locks: the rows; the caller holds 'sums'.
-- Callers: sum_issuances; the gateway's role lacks the rights to the tables.
-- Errors: none.
CREATE OR REPLACE FUNCTION forget_sums_since(p_hour timestamptz) RETURNS void
LANGUAGE sql VOLATILE
AS $$
    DELETE FROM issuance_sums s WHERE s.minute >= p_hour;
    DELETE FROM caller_sums s WHERE s.hour >= p_hour;
    DELETE FROM caller_days s WHERE s.day > p_hour - interval '24 hours';
    DELETE FROM summed_caller_days d WHERE d.starts_at > p_hour - interval '24 hours';
    DELETE FROM summed_hours h WHERE h.starts_at >= p_hour;
    DELETE FROM summed_days d WHERE d.starts_at >= p_hour;
    UPDATE summed_days d SET summed_to = p_hour
    WHERE d.starts_at > p_hour - interval '24 hours' AND d.summed_to > p_hour;
$$;
