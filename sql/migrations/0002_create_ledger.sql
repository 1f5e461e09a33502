-- The ledger of issuances, what is counted against quotas, and the upkeep of both.

-- One row per credential that left the gateway. No index but the key and no foreign keys: each costs every issuance.
CREATE TABLE issuances (
    id uuid NOT NULL,
    issued_at timestamptz NOT NULL,
    policy_seq bigint NOT NULL,
    principal text COLLATE "C" NOT NULL,
    matched_principal text COLLATE "C" NOT NULL,
    grant_id uuid NOT NULL,
    credential_id uuid NOT NULL,
    delivery text NOT NULL,
    action text NOT NULL,
    method text NOT NULL,
    bucket text COLLATE "C" NOT NULL,
    object_key text COLLATE "C" NOT NULL,
    expires_at timestamptz NOT NULL,
    content_type text,
    content_md5 bytea,
    content_length bigint,
    request_id text NOT NULL,
    -- What was charged, pairwise; from these the counters can be recomputed.
    quota_ids uuid[],
    quota_amounts bigint[],
    CONSTRAINT issuances_pkey PRIMARY KEY (id, issued_at),
    CONSTRAINT issuances_delivery_check CHECK (delivery IN ('presigned-url')),
    CONSTRAINT issuances_action_check CHECK (action IN ('PutObject', 'GetObject')),
    CONSTRAINT issuances_method_check CHECK (method IN ('GET', 'HEAD', 'PUT')),
    CONSTRAINT issuances_content_md5_check CHECK (octet_length(content_md5) = 16),
    CONSTRAINT issuances_content_length_check CHECK (content_length >= 0)
) PARTITION BY RANGE (issued_at);

-- What is used of a quota by one holder in one period. Room is left on each page, so that an update stays on it and touches
-- no index.
CREATE TABLE quota_usage (
    quota_id uuid NOT NULL,
    holder text COLLATE "C" NOT NULL,
    period_start timestamptz NOT NULL,
    -- Whether several principals share the row; such rows are locked last, and so for the shortest time.
    shared boolean NOT NULL,
    used bigint NOT NULL,
    -- Bytes given back after a URL was dead.
    released bigint NOT NULL DEFAULT 0,
    -- Charges of issuances that are past retention.
    archived bigint NOT NULL DEFAULT 0,
    CONSTRAINT quota_usage_pkey PRIMARY KEY (quota_id, holder, period_start),
    CONSTRAINT quota_usage_amounts_check CHECK (used >= 0 AND released >= 0 AND archived >= 0)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);

-- Bytes that an issued URL may still write. They stay counted until a check of the object tells that fewer arrived.
CREATE TABLE reservations (
    issuance_id uuid NOT NULL,
    quota_id uuid NOT NULL,
    holder text COLLATE "C" NOT NULL,
    period_start timestamptz NOT NULL,
    amount bigint NOT NULL,
    bucket text COLLATE "C" NOT NULL,
    object_key text COLLATE "C" NOT NULL,
    -- When the URL can no longer be used.
    dead_at timestamptz NOT NULL,
    -- When to look next; moves on while the store does not answer.
    check_at timestamptz NOT NULL,
    CONSTRAINT reservations_pkey PRIMARY KEY (issuance_id, quota_id),
    CONSTRAINT reservations_amount_check CHECK (amount > 0)
);

CREATE INDEX reservations_check_at_idx ON reservations (check_at);

-- Refusals, counted by the minute. No bucket where the one that was asked for does not exist.
CREATE TABLE denials (
    principal text COLLATE "C" NOT NULL,
    bucket text COLLATE "C" NOT NULL DEFAULT '',
    code text NOT NULL,
    minute timestamptz NOT NULL,
    count bigint NOT NULL,
    CONSTRAINT denials_pkey PRIMARY KEY (principal, bucket, code, minute),
    CONSTRAINT denials_count_check CHECK (count > 0)
);

CREATE INDEX denials_minute_idx ON denials (minute);

-- When the period that holds an instant began, in UTC; the epoch for a total. Plain expressions, so that they are inlined.
CREATE FUNCTION quota_period_start(p_period text, p_at timestamptz) RETURNS timestamptz
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE p_period
    WHEN 'total' THEN timestamptz '1970-01-01 00:00:00+00'
    ELSE date_trunc(p_period, p_at AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'
END;

-- When the period that began at an instant ends; NULL for a total.
CREATE FUNCTION quota_period_end(p_period text, p_start timestamptz) RETURNS timestamptz
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE p_period
    WHEN 'minute' THEN ((p_start AT TIME ZONE 'UTC') + interval '1 minute') AT TIME ZONE 'UTC'
    WHEN 'hour' THEN ((p_start AT TIME ZONE 'UTC') + interval '1 hour') AT TIME ZONE 'UTC'
    WHEN 'day' THEN ((p_start AT TIME ZONE 'UTC') + interval '1 day') AT TIME ZONE 'UTC'
    WHEN 'month' THEN ((p_start AT TIME ZONE 'UTC') + interval '1 month') AT TIME ZONE 'UTC'
END;

-- Makes sure that the ledger can take rows of a day (UTC).
--
-- The partition is made beside the ledger and attached with a check that proves its bounds, which takes no lock that an
-- issuance would wait for.
CREATE FUNCTION create_issuances_partition(p_day date) RETURNS boolean
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
    PERFORM pg_advisory_xact_lock(7310868745);
    IF to_regclass('public.' || quote_ident(v_name)) IS NOT NULL THEN
        RETURN false;
    END IF;
    EXECUTE format('CREATE TABLE public.%I (LIKE public.issuances INCLUDING ALL)', v_name);
    EXECUTE format(
        'ALTER TABLE public.%I ADD CONSTRAINT issued_on_day CHECK (issued_at >= %L AND issued_at < %L)', v_name, v_from, v_to
    );
    EXECUTE format(
        'ALTER TABLE public.issuances ATTACH PARTITION public.%I FOR VALUES FROM (%L) TO (%L)', v_name, v_from, v_to
    );
    EXECUTE format('ALTER TABLE public.%I DROP CONSTRAINT issued_on_day', v_name);
    RETURN true;
END
$$;

-- Prepares partitions for today and some days ahead; answers how many were made.
CREATE FUNCTION prepare_issuances_partitions(p_days_ahead integer) RETURNS integer
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

-- The days that have a partition, oldest first, as far as they are past retention.
--
-- Less than 32 days are not kept: the counters of a month must stay recomputable.
CREATE FUNCTION expired_issuances_days(p_keep_days integer) RETURNS SETOF date
LANGUAGE plpgsql STABLE
SET search_path = public, pg_temp
AS $$
BEGIN
    IF p_keep_days < 32 THEN
        RAISE EXCEPTION 'the ledger keeps at least 32 days' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    RETURN QUERY
        SELECT p.day
        FROM pg_inherits i
        JOIN pg_class c ON c.oid = i.inhrelid
        CROSS JOIN LATERAL (SELECT to_date(right(c.relname, 8), 'YYYYMMDD') AS day) p
        WHERE i.inhparent = 'public.issuances'::regclass
            AND p.day < (clock_timestamp() AT TIME ZONE 'UTC')::date - p_keep_days
        ORDER BY p.day;
END
$$;

-- Empties the partition of a day that is past retention, after adding what it charged to totals to their archive.
--
-- Emptying locks the partition only, to which nobody writes any more; whoever reads it makes this give up (lock_not_available).
CREATE FUNCTION empty_issuances_partition(p_day date, p_keep_days integer) RETURNS void
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
END
$$;

-- Takes the emptied partition of a day out of the ledger and drops it.
--
-- DETACH CONCURRENTLY cannot run inside a function, and the gateway's role owns nothing. A plain DETACH changes a few
-- catalogue rows, but needs the ledger's exclusive lock: it is asked for during a tenth of a second at the most, so that
-- issuances never wait longer than that; answers false where a reader was in the way, to be tried again later.
CREATE FUNCTION drop_issuances_partition(p_day date, p_keep_days integer) RETURNS boolean
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
    RETURN true;
EXCEPTION WHEN lock_not_available THEN
    RETURN false;
END
$$;

-- Deletes counters of periods that ended long ago or whose quota is gone, and old counts of refusals; answers how many.
CREATE FUNCTION prune_counters(p_keep_denials_days integer, p_most integer) RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = public, pg_temp
AS $$
DECLARE
    v_usage integer;
    v_denials integer;
BEGIN
    -- A recording of the period's last instant may still be under way, hence the hour.
    DELETE FROM quota_usage u
    USING (
        SELECT o.quota_id, o.holder, o.period_start
        FROM quota_usage o
        LEFT JOIN quotas q ON q.id = o.quota_id
        WHERE q.id IS NULL OR quota_period_end(q.period, o.period_start) < clock_timestamp() - interval '1 hour'
        LIMIT p_most
        FOR UPDATE OF o SKIP LOCKED
    ) old
    WHERE u.quota_id = old.quota_id AND u.holder = old.holder AND u.period_start = old.period_start;
    GET DIAGNOSTICS v_usage = ROW_COUNT;
    DELETE FROM denials d
    WHERE d.ctid = ANY (ARRAY(
        SELECT o.ctid FROM denials o
        WHERE o.minute < clock_timestamp() - make_interval(days => greatest(p_keep_denials_days, 1))
        LIMIT p_most
        FOR UPDATE SKIP LOCKED
    ));
    GET DIAGNOSTICS v_denials = ROW_COUNT;
    RETURN v_usage + v_denials;
END
$$;
