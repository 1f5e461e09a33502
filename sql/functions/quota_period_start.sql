-- The start of the period of a quota that contains an instant. Periods are those of UTC.
--
-- Together with quota_period_end this is all the arithmetic of periods that there is. Both are single expressions of
-- immutable functions, so that the planner inlines them and PL/pgSQL evaluates them without taking a snapshot.
--
--   p_period  'minute', 'hour', 'day', 'month' or 'total'
--   p_at      the instant
-- Result: the start; the Unix epoch for a total; NULL for any other word. Locks and errors: none.
CREATE OR REPLACE FUNCTION quota_period_start(p_period text, p_at timestamptz) RETURNS timestamptz
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
    SELECT CASE p_period
        WHEN 'day' THEN date_bin('24 hours', p_at, timestamptz 'epoch')
        WHEN 'hour' THEN date_bin('1 hour', p_at, timestamptz 'epoch')
        WHEN 'minute' THEN date_bin('1 minute', p_at, timestamptz 'epoch')
        WHEN 'month' THEN date_trunc('month', p_at AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'
        WHEN 'total' THEN timestamptz 'epoch'
    END
$$;
