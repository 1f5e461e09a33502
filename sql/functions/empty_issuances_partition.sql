-- Empties the partition of a day past retention, after adding what its rows charged to total quotas to their archive.
--
-- Nobody writes to the partition any more, and the sums of the day go with its rows. What takes long, reading the day
-- and deleting its sums, comes before the locks for which others would wait. Recordings wait only where they charge a
-- total quota that the day charged, until its archive is written and the partition is empty.
--
--   p_day        the day
--   p_keep_days  the retention, at least 32 days
--   p_now        the caller's clock: of it and the server's, the earlier one counts
-- Result: none. Where the day has no partition, since another gateway dropped it, this does nothing.
-- Locks: 'sums'; SHARE on the partition; at the end ACCESS EXCLUSIVE, and the counters in the order in which recordings
-- lock them. Runs with the owner's rights. Callers: the gateway's role.
-- Errors: invalid_parameter_value for a day within retention; lock_not_available after a second, where somebody reads
-- the day or sums up.
CREATE OR REPLACE FUNCTION empty_issuances_partition(p_day date, p_keep_days integer, p_now timestamptz) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = public, pg_temp
SET lock_timeout = '1s'
AS $$
DECLARE
    v_name text := 'issuances_' || to_char(p_day, 'YYYYMMDD');
    v_quotas uuid[];
    v_holders text[];
    v_amounts bigint[];
BEGIN
    -- Whoever drops a day holds this lock.
    PERFORM pg_advisory_xact_lock(advisory_lock('sums'));
    IF NOT EXISTS (SELECT FROM issuances_partitions() p WHERE p.day = p_day) THEN
        RETURN;
    END IF;
    IF p_day NOT IN (SELECT expired_issuances_days(p_keep_days, p_now)) THEN
        RAISE EXCEPTION 'the day % is not past retention', p_day USING ERRCODE = 'invalid_parameter_value';
    END IF;
    EXECUTE format('LOCK TABLE public.%I IN SHARE MODE', v_name);
    EXECUTE format(
        $sql$
        SELECT array_agg(c.quota_id), array_agg(c.holder), array_agg(c.amount)
        FROM (
            SELECT q.id AS quota_id,
                CASE q.sharing WHEN 'shared' THEN q.principal ELSE i.principal END AS holder,
                sum(c.amount)::bigint AS amount
            FROM public.%I i
            CROSS JOIN LATERAL unnest(i.quota_ids, i.quota_amounts) AS c (quota_id, amount)
            JOIN public.quotas q ON q.id = c.quota_id AND q.period = 'total'
            GROUP BY 1, 2
        ) c
        $sql$,
        v_name
    ) INTO v_quotas, v_holders, v_amounts;
    PERFORM forget_sums(p_day::timestamp AT TIME ZONE 'UTC');
    DELETE FROM landing_sums s
    WHERE s.minute >= p_day::timestamp AT TIME ZONE 'UTC' AND s.minute < (p_day + 1)::timestamp AT TIME ZONE 'UTC';
    DELETE FROM caller_landings s
    WHERE s.hour >= p_day::timestamp AT TIME ZONE 'UTC' AND s.hour < (p_day + 1)::timestamp AT TIME ZONE 'UTC';
    DELETE FROM caller_landing_days s WHERE s.day = p_day::timestamp AT TIME ZONE 'UTC';
    -- The oldest days go first, so what was last used on this one was not used since.
    DELETE FROM grant_uses u WHERE u.last_issued_at < (p_day + 1)::timestamp AT TIME ZONE 'UTC';

    -- From here on, whoever reads the day waits, and so do recordings that charge these counters.
    EXECUTE format('LOCK TABLE public.%I IN ACCESS EXCLUSIVE MODE', v_name);
    WITH slots AS MATERIALIZED (
        SELECT u.quota_id, u.holder, u.period_start, c.amount
        FROM quota_usage u
        JOIN unnest(v_quotas, v_holders, v_amounts) AS c (quota_id, holder, amount)
            ON c.quota_id = u.quota_id AND c.holder = u.holder
        WHERE u.period_start = quota_period_start('total', now())
        ORDER BY u.shared, u.quota_id, u.holder, u.period_start
        FOR UPDATE OF u
    )
    UPDATE quota_usage u
    SET archived = u.archived + s.amount
    FROM slots s
    WHERE u.quota_id = s.quota_id AND u.holder = s.holder AND u.period_start = s.period_start;
    EXECUTE format('TRUNCATE public.%I', v_name);
END
$$;
