-- The end of the period of a quota, which is also the start of the next one.
--
-- The sum is taken without a time zone, since adding to a timestamptz depends on the session's.
--
--   p_period  'minute', 'hour', 'day', 'month' or 'total'
--   p_start   the start of the period, from quota_period_start
-- Result: the end; NULL for a total, which has none. Locks and errors: none.
CREATE OR REPLACE FUNCTION quota_period_end(p_period text, p_start timestamptz) RETURNS timestamptz
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
    SELECT (
        (p_start AT TIME ZONE 'UTC') + CASE p_period
            WHEN 'day' THEN interval '1 day'
            WHEN 'hour' THEN interval '1 hour'
            WHEN 'minute' THEN interval '1 minute'
            WHEN 'month' THEN interval '1 month'
        END
    ) AT TIME ZONE 'UTC'
$$;
