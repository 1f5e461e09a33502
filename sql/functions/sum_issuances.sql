-- Sums up what was recorded since the last call, by the minute: ten minutes of a day, up to twenty at its end, the
-- latest day first. Also brings the indexes issuances_lookup_idx and issuances_time_idx up to date.
--
-- A recording shares the policy lock, reads the clock, and commits later. So this reads the clock first, then lists who
-- shares the lock, and waits until those have ended: all rows up to that time are visible then. Nobody waits for this
-- function.
--
-- Where the clock was set back behind what is summed up, rows appear that the sums lack. What was summed up since an
-- hour before is then summed up anew. A clock that has caught up before the next call goes unnoticed until the end of
-- the day: its rows are counted then, and the day begins anew if its sums have others.
--
--   p_least_pages  a day that is not over is left until it has grown by so many pages, or for ten minutes if it has any
-- Result: whether there is more to do. Locks: 'sums', if it is free. Runs with the owner's rights. Callers: the
-- gateway's role.
-- Errors: invalid_transaction_state outside READ COMMITTED.
CREATE OR REPLACE FUNCTION sum_issuances(p_least_pages integer) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = public, pg_temp
SET timezone = 'UTC'
SET lock_timeout = '100ms'
SET plan_cache_mode = force_custom_plan
SET work_mem = '32MB'
SET enable_seqscan = off
-- Of a new day the planner knows nothing. It would read the whole tree of identifiers for the last two seconds.
SET enable_indexscan = off
SET enable_sort = off
AS $$
DECLARE
    v_now timestamptz;
    v_recording text[];
    v_partition oid;
    v_pages bigint;
    v_summed_pages bigint;
    v_day timestamptz;
    v_end timestamptz;
    v_from timestamptz;
    v_to timestamptz;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'summing up needs read committed' USING ERRCODE = 'invalid_transaction_state';
    END IF;
    IF NOT pg_try_advisory_xact_lock(advisory_lock('sums')) THEN
        RETURN false;
    END IF;
    v_now := clock_timestamp();
    v_recording := ARRAY(SELECT policy_lock_sharers());

    -- The clock was set back some time ago, and rows were recorded since.
    IF EXISTS (SELECT FROM summed_days d WHERE d.starts_at > v_now - interval '24 hours' AND d.summed_to > v_now) THEN
        PERFORM forget_sums_since(date_trunc('hour', v_now) - interval '1 hour');
    END IF;

    SELECT p.partition, p.starts_at, p.starts_at + interval '24 hours', coalesce(d.summed_to, p.starts_at), p.pages,
        d.pages
    INTO v_partition, v_day, v_end, v_from, v_pages, v_summed_pages
    FROM (
        SELECT i.partition, pg_relation_size(i.partition) / current_setting('block_size')::bigint AS pages,
            i.day::timestamptz AS starts_at
        FROM issuances_partitions() i
    ) p
    LEFT JOIN summed_days d ON d.starts_at = p.starts_at
    WHERE p.starts_at < v_now AND coalesce(d.summed_to, p.starts_at) < least(v_now, p.starts_at + interval '24 hours')
        -- A clock that is set back by moments just after a day would add to it once more.
        AND v_now NOT BETWEEN p.starts_at + interval '24 hours' AND p.starts_at + interval '24 hours 1 minute'
        AND (
            p.starts_at + interval '24 hours' <= v_now OR p.pages >= coalesce(d.pages, 0) + p_least_pages
            OR p.pages > 0 AND coalesce(d.summed_to, p.starts_at) <= v_now - interval '10 minutes'
        )
    ORDER BY p.starts_at DESC
    LIMIT 1;
    IF v_day IS NULL THEN
        RETURN false;
    END IF;
    v_to := least(CASE WHEN v_pages > 0 THEN v_from + interval '10 minutes' ELSE v_end END, v_end);
    -- No step ends shortly before the present: what is left after it would not be due.
    IF v_to > v_now - interval '10 minutes' THEN
        v_to := least(v_end, v_now);
    END IF;

    FOR i IN 1..500 LOOP
        v_recording := ARRAY(SELECT policy_lock_sharers() INTERSECT SELECT unnest(v_recording));
        EXIT WHEN v_recording = '{}';
        PERFORM pg_sleep(0.002);
    END LOOP;
    IF v_recording <> '{}' THEN
        RETURN false;
    END IF;

    -- Of a day that was summed up before, only the pages that came since: to look for those that are not summarised
    -- takes longer the longer the day is.
    BEGIN
        PERFORM CASE WHEN v_summed_pages > 0 THEN (
                SELECT sum(brin_summarize_range(x.indexrelid, b))
                FROM generate_series(v_summed_pages, v_pages + x.width - 1, x.width) AS b
            ) ELSE brin_summarize_new_values(x.indexrelid) END
        FROM (
            SELECT x.indexrelid, o.option_value::bigint AS width
            FROM pg_index x
            JOIN pg_class c ON c.oid = x.indexrelid
            JOIN pg_am a ON a.oid = c.relam AND a.amname = 'brin'
            CROSS JOIN LATERAL pg_options_to_table(c.reloptions) o
            WHERE x.indrelid = v_partition AND o.option_name = 'pages_per_range'
        ) x;
    EXCEPTION WHEN lock_not_available THEN
        -- VACUUM or ANALYZE holds it. The next call does this.
        v_pages := coalesce(v_summed_pages, 0);
    END;

    INSERT INTO issuance_sums (
        minute, bucket, action, delivery, credential_id, byte_quotas, urls, bytes_bound, bytes_reserved
    )
    SELECT c.minute, c.bucket, c.action, c.delivery, c.credential_id, q.ids, sum(c.urls), sum(c.bound),
        sum(c.urls * q.amount)
    FROM (
        SELECT date_bin('1 minute', i.issued_at, timestamptz 'epoch') AS minute, i.bucket, i.action, i.delivery,
            i.credential_id, count(*) AS urls, sum(i.content_length) AS bound,
            CASE WHEN i.action <> 'GetObject' THEN i.quota_ids END AS quota_ids,
            CASE WHEN i.action <> 'GetObject' THEN i.quota_amounts END AS quota_amounts
        FROM issuances i
        WHERE i.issued_at >= v_from AND i.issued_at < v_to
        GROUP BY 1, 2, 3, 4, 5, 8, 9
    ) c
    CROSS JOIN LATERAL (
        SELECT coalesce(array_agg(q.id ORDER BY q.id), '{}') AS ids, max(a.amount) AS amount
        FROM unnest(c.quota_ids, c.quota_amounts) AS a (quota_id, amount)
        JOIN quotas q ON q.id = a.quota_id AND q.metric = 'bytes'
    ) q
    GROUP BY c.minute, c.bucket, c.action, c.delivery, c.credential_id, q.ids;

    INSERT INTO summed_days AS d (starts_at, summed_to, pages)
    VALUES (v_day, v_to, v_pages)
    ON CONFLICT ON CONSTRAINT summed_days_pkey DO UPDATE
    SET summed_to = excluded.summed_to, pages = excluded.pages;

    -- Where the clock was set back and nobody noticed, rows appeared before the time up to which all was summed up.
    IF v_to = v_end AND (
        SELECT count(*) FROM issuances i WHERE i.issued_at >= v_day AND i.issued_at < v_end
    ) <> (
        SELECT coalesce(sum(s.urls), 0) FROM issuance_sums s WHERE s.minute >= v_day AND s.minute < v_end
    ) THEN
        PERFORM forget_sums(v_day);
    END IF;
    RETURN v_to < v_now;
END
$$;
