-- Removes the sums of the issuances of a day, so that it is summed up again or forgotten.
--
--   p_starts_at  when the day begins (UTC)
-- Result: none. Locks: the rows; the caller holds 'sums'.
-- Callers: sum_issuances and the functions that empty and drop days; the gateway's role lacks the rights to the tables.
-- Errors: none.
CREATE OR REPLACE FUNCTION forget_sums(p_starts_at timestamptz) RETURNS void
LANGUAGE sql VOLATILE
AS $$
    DELETE FROM issuance_sums s WHERE s.minute >= p_starts_at AND s.minute < p_starts_at + interval '24 hours';
    DELETE FROM caller_sums s WHERE s.hour >= p_starts_at AND s.hour < p_starts_at + interval '24 hours';
    DELETE FROM caller_days s WHERE s.day = p_starts_at;
    DELETE FROM summed_caller_days d WHERE d.starts_at = p_starts_at;
    DELETE FROM summed_hours h WHERE h.starts_at >= p_starts_at AND h.starts_at < p_starts_at + interval '24 hours';
    DELETE FROM summed_days d WHERE d.starts_at = p_starts_at;
$$;
