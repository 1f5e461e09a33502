-- What admins ask of a full ledger, answered from little: how much was issued, from sums that the upkeep keeps; what a caller, a
-- grant or the keys below a prefix got, from an index that knows two pages at a time. Neither costs a recording anything.

-- The first two segments of a key, by which prefixes that reach so far are looked up.
CREATE FUNCTION leading_segments(p_key text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN split_part(p_key, '/', 1) || '/' || split_part(p_key, '/', 2);

-- Callers that are active all day have a row in every few pages: only ranges this narrow leave most of a day out. It takes a
-- fiftieth of the room of the rows. The upkeep keeps it up to date; autovacuum has too short a memory for that many ranges.
DROP INDEX issuances_lookup_idx;
CREATE INDEX issuances_lookup_idx ON issuances USING brin (
    issued_at, expires_at,
    principal text_bloom_ops (n_distinct_per_range = 64, false_positive_rate = 0.01),
    grant_id uuid_bloom_ops (n_distinct_per_range = 64, false_positive_rate = 0.01),
    leading_segments(object_key) text_bloom_ops (n_distinct_per_range = 64, false_positive_rate = 0.01)
) WITH (pages_per_range = 2, autosummarize = off);

-- How far each day (UTC) is summed up: its rows from its beginning up to an instant, all of them.
CREATE TABLE summed_days (
    starts_at timestamptz NOT NULL,
    summed_to timestamptz NOT NULL,
    -- Pages of the partition when it was last summed up to the present.
    pages bigint NOT NULL,
    CONSTRAINT summed_days_pkey PRIMARY KEY (starts_at),
    CONSTRAINT summed_days_check CHECK (summed_to > starts_at AND summed_to <= starts_at + interval '24 hours')
);

-- What was issued in a minute. There may be several rows of the same, for parts of the minute.
CREATE TABLE issuance_sums (
    minute timestamptz NOT NULL,
    bucket text COLLATE "C" NOT NULL,
    action text NOT NULL,
    delivery text NOT NULL,
    credential_id uuid NOT NULL,
    -- The byte quotas that each of these was charged to; several reserve the same bytes.
    byte_quotas uuid[] NOT NULL,
    urls bigint NOT NULL,
    bytes_bound numeric,
    bytes_reserved numeric
);

CREATE INDEX issuance_sums_minute_idx ON issuance_sums (minute);

-- Sums up what was recorded since the last time, ten minutes of a day at the most, the newest day first; answers whether there
-- is more to do. A day that is not over is left until it has grown by some pages.
--
-- Recordings take the policy lock, shared, then read the clock, and commit later. So the clock is read first here, then who
-- holds the lock: once those are through, all rows up to that time can be seen. Nobody waits for this.
CREATE FUNCTION sum_issuances(p_least_pages integer) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = public, pg_temp
SET timezone = 'UTC'
SET lock_timeout = '100ms'
SET plan_cache_mode = force_custom_plan
SET work_mem = '32MB'
SET jit = off
SET enable_seqscan = off
SET enable_sort = off
AS $$
DECLARE
    v_now timestamptz;
    v_recording text[];
    v_partition oid;
    v_pages bigint;
    v_day timestamptz;
    v_end timestamptz;
    v_from timestamptz;
    v_to timestamptz;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'summing up needs read committed' USING ERRCODE = 'invalid_transaction_state';
    END IF;
    IF NOT pg_try_advisory_xact_lock(7310868747) THEN
        RETURN false;
    END IF;
    v_now := clock_timestamp();
    v_recording := ARRAY(SELECT policy_lock_sharers());

    SELECT p.partition, p.starts_at, p.starts_at + interval '24 hours', coalesce(d.summed_to, p.starts_at), p.pages
    INTO v_partition, v_day, v_end, v_from, v_pages
    FROM (
        -- Only CASE keeps the order in which things are looked at.
        SELECT c.oid AS partition, pg_relation_size(c.oid) / current_setting('block_size')::bigint AS pages,
            CASE WHEN c.relname ~ '^issuances_[0-9]{8}$' THEN to_date(right(c.relname, 8), 'YYYYMMDD') END::timestamptz
                AS starts_at
        FROM pg_inherits i
        JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent = 'public.issuances'::regclass
    ) p
    LEFT JOIN summed_days d ON d.starts_at = p.starts_at
    WHERE p.starts_at < v_now AND coalesce(d.summed_to, p.starts_at) < least(v_now, p.starts_at + interval '24 hours')
        AND (p.starts_at + interval '24 hours' <= v_now OR p.pages >= coalesce(d.pages, 0) + p_least_pages)
    ORDER BY p.starts_at DESC
    LIMIT 1;
    IF v_day IS NULL THEN
        RETURN false;
    END IF;
    v_to := least(CASE WHEN v_pages > 0 THEN v_from + interval '10 minutes' ELSE v_end END, v_end, v_now);

    FOR i IN 1..500 LOOP
        v_recording := ARRAY(SELECT policy_lock_sharers() INTERSECT SELECT unnest(v_recording));
        EXIT WHEN v_recording = '{}';
        PERFORM pg_sleep(0.002);
    END LOOP;
    IF v_recording <> '{}' THEN
        RETURN false;
    END IF;

    IF v_to = least(v_now, v_end) THEN
        BEGIN
            PERFORM brin_summarize_new_values(x.indexrelid)
            FROM pg_index x
            JOIN pg_class c ON c.oid = x.indexrelid
            JOIN pg_am a ON a.oid = c.relam AND a.amname = 'brin'
            WHERE x.indrelid = v_partition;
        EXCEPTION WHEN lock_not_available THEN
            -- It is being vacuumed, which does the same.
            NULL;
        END;
    END IF;

    INSERT INTO issuance_sums (
        minute, bucket, action, delivery, credential_id, byte_quotas, urls, bytes_bound, bytes_reserved
    )
    SELECT c.minute, c.bucket, c.action, c.delivery, c.credential_id, q.ids, sum(c.urls), sum(c.bound), sum(c.urls * q.amount)
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
    VALUES (v_day, v_to, CASE WHEN v_to = v_now THEN v_pages ELSE 0 END)
    ON CONFLICT ON CONSTRAINT summed_days_pkey DO UPDATE
    SET summed_to = excluded.summed_to, pages = CASE WHEN v_to = v_now THEN excluded.pages ELSE d.pages END;

    -- A clock that was set back lets rows appear where all was summed up: such a day is begun anew once it is over.
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

-- The transactions that hold the policy lock shared, that is, those that may be recording.
CREATE FUNCTION policy_lock_sharers() RETURNS SETOF text
LANGUAGE sql VOLATILE
BEGIN ATOMIC
    SELECT l.virtualtransaction
    FROM pg_locks l
    WHERE l.locktype = 'advisory' AND l.granted AND l.mode = 'ShareLock'
        AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
        AND l.classid::bigint = 7310868744 >> 32 AND l.objid::bigint = 7310868744 & 4294967295 AND l.objsubid = 1;
END;

-- Forgets the sums of a day.
CREATE FUNCTION forget_sums(p_starts_at timestamptz) RETURNS void
LANGUAGE sql VOLATILE
BEGIN ATOMIC
    DELETE FROM issuance_sums s WHERE s.minute >= p_starts_at AND s.minute < p_starts_at + interval '24 hours';
    DELETE FROM summed_days d WHERE d.starts_at = p_starts_at;
END;

-- As before; the sums of a day go with its rows.
CREATE OR REPLACE FUNCTION empty_issuances_partition(p_day date, p_keep_days integer) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = public, pg_temp
SET lock_timeout = '1s'
AS $$
DECLARE
    v_name text := 'issuances_' || to_char(p_day, 'YYYYMMDD');
BEGIN
    IF p_day NOT IN (SELECT expired_issuances_days(p_keep_days)) THEN
        RAISE EXCEPTION 'the day % is not past retention', p_day USING ERRCODE = 'invalid_parameter_value';
    END IF;
    EXECUTE format('LOCK TABLE public.%I IN ACCESS EXCLUSIVE MODE', v_name);
    EXECUTE format(
        $sql$
        WITH charged AS MATERIALIZED (
            SELECT q.id AS quota_id,
                CASE q.sharing WHEN 'shared' THEN q.principal ELSE i.principal END AS holder,
                sum(c.amount)::bigint AS amount
            FROM public.%I i
            CROSS JOIN LATERAL unnest(i.quota_ids, i.quota_amounts) AS c (quota_id, amount)
            JOIN public.quotas q ON q.id = c.quota_id AND q.period = 'total'
            GROUP BY 1, 2
        ),
        slots AS MATERIALIZED (
            SELECT u.quota_id, u.holder, u.period_start
            FROM public.quota_usage u
            JOIN charged c ON c.quota_id = u.quota_id AND c.holder = u.holder
            WHERE u.period_start = public.quota_period_start('total', now())
            ORDER BY u.shared, u.quota_id, u.holder, u.period_start
            FOR UPDATE OF u
        )
        UPDATE public.quota_usage u
        SET archived = u.archived + c.amount
        FROM slots s
        JOIN charged c ON c.quota_id = s.quota_id AND c.holder = s.holder
        WHERE u.quota_id = s.quota_id AND u.holder = s.holder AND u.period_start = s.period_start
        $sql$,
        v_name
    );
    EXECUTE format('TRUNCATE public.%I', v_name);
    PERFORM forget_sums(p_day::timestamp AT TIME ZONE 'UTC');
END
$$;

-- Likewise, for what was noted of the empty day since.
CREATE OR REPLACE FUNCTION drop_issuances_partition(p_day date, p_keep_days integer) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = public, pg_temp
SET lock_timeout = '100ms'
AS $$
DECLARE
    v_name text := 'issuances_' || to_char(p_day, 'YYYYMMDD');
    v_is_empty boolean;
BEGIN
    IF p_day NOT IN (SELECT expired_issuances_days(p_keep_days)) THEN
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
