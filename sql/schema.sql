CREATE DOMAIN public.amount AS bigint
	CONSTRAINT amount_check CHECK ((VALUE >= 0));

CREATE DOMAIN public.issuance_action AS text;

CREATE DOMAIN public.issuance_delivery AS text;

CREATE DOMAIN public.issuance_method AS text
	CONSTRAINT issuance_method_check CHECK ((VALUE = ANY (ARRAY['GET'::text, 'HEAD'::text, 'PUT'::text, 'POST'::text, 'DELETE'::text, '*'::text])));

CREATE DOMAIN public.md5_digest AS bytea
	CONSTRAINT md5_digest_check CHECK ((octet_length(VALUE) = ANY (ARRAY[16, 32, 33, 48, 49])));

CREATE FUNCTION public.advisory_lock(p_name text) RETURNS bigint
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    AS $$
BEGIN
    CASE p_name
        WHEN 'policy' THEN RETURN 7310868744;
        WHEN 'partitions' THEN RETURN 7310868745;
        WHEN 'migration' THEN RETURN 7310868746;
        WHEN 'sums' THEN RETURN 7310868747;
        WHEN 'pruning' THEN RETURN 7310868748;
        WHEN 'indexing' THEN RETURN 7310868749;
    END CASE;
END
$$;

CREATE FUNCTION public.append_policy_log(p_scopes text[], p_actor text, p_request_id text, p_attempts integer DEFAULT 1) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_scopes text[] := p_scopes;
    v_callers text[];
    v_lines jsonb := coalesce(nullif(current_setting('sluice.lines', true), ''), '{}');
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'a change of policy needs read committed' USING ERRCODE = 'invalid_transaction_state';
    END IF;
    IF cardinality(p_scopes) > 1000 THEN
        v_scopes := ARRAY['all'] || ARRAY(SELECT s FROM unnest(p_scopes) AS s WHERE s ~ '^(bucket|credential):');
        IF cardinality(v_scopes) > 1000 THEN
            v_scopes := '{all,buckets}';
        END IF;
        v_callers := ARRAY(SELECT s FROM unnest(p_scopes) AS s WHERE s ~ '^(apikey|issuer|ticket):');
        IF cardinality(v_scopes) + 1 + cardinality(v_callers) <= 1000 THEN
            v_scopes := v_scopes || 'callers'::text || v_callers;
        END IF;
    END IF;
    v_lines := v_lines || jsonb_build_object(
        current_policy_change(),
        jsonb_build_object('scopes', v_scopes, 'actor', p_actor, 'request', p_request_id, 'attempts', p_attempts)
    );
    PERFORM set_config('sluice.lines', v_lines::text, true);
    PERFORM set_config('sluice.change', '', true);
END
$$;

CREATE FUNCTION public.audit_quotas() RETURNS TABLE(quota_id uuid, holder text, period_start timestamp with time zone, used bigint, charged bigint)
    LANGUAGE sql STABLE
    AS $$
    WITH periods AS (
        SELECT q.id, q.principal, q.sharing, s.starts_at,
            coalesce(quota_period_end(q.period, s.starts_at), 'infinity') AS ends_at
        FROM quotas q
        CROSS JOIN LATERAL (SELECT quota_period_start(q.period, statement_timestamp()) AS starts_at) s
    ),
    charges AS (
        SELECT p.id, CASE p.sharing WHEN 'shared' THEN p.principal ELSE i.principal END AS holder, p.starts_at,
            sum(c.amount)::bigint AS amount
        FROM issuances i
        CROSS JOIN LATERAL unnest(i.quota_ids, i.quota_amounts) AS c (quota_id, amount)
        JOIN periods p ON p.id = c.quota_id
        WHERE i.quota_ids IS NOT NULL AND i.issued_at >= p.starts_at AND i.issued_at < p.ends_at
            AND i.issued_at >= (SELECT min(e.starts_at) FROM periods e)
        GROUP BY 1, 2, 3
    ),
    counters AS (
        SELECT u.quota_id, u.holder, u.period_start, u.used, u.archived - u.released AS settled
        FROM quota_usage u
        JOIN periods p ON p.id = u.quota_id AND p.starts_at = u.period_start
    )
    SELECT coalesce(c.id, u.quota_id), coalesce(c.holder, u.holder), coalesce(c.starts_at, u.period_start),
        coalesce(u.used, 0), coalesce(c.amount, 0) + coalesce(u.settled, 0)
    FROM charges c
    FULL JOIN counters u ON u.quota_id = c.id AND u.holder = c.holder AND u.period_start = c.starts_at
    WHERE coalesce(u.used, 0) <> coalesce(c.amount, 0) + coalesce(u.settled, 0)
    ORDER BY 1, 2, 3;
$$;

CREATE FUNCTION public.begin_remote_upload(p_principal text, p_bucket text, p_object_key text, p_content_type text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
DECLARE
    v_before timestamptz := clock_timestamp() - interval '46 days';
BEGIN
    DELETE FROM remote_uploads u
    WHERE u.id = ANY (ARRAY(
        SELECT o.id FROM remote_uploads o
        WHERE o.started_at < v_before
        ORDER BY o.started_at
        LIMIT 20
        FOR UPDATE SKIP LOCKED
    ));
    INSERT INTO remote_uploads (principal, bucket, object_key, content_type)
    VALUES (p_principal, p_bucket, p_object_key, p_content_type);
END
$$;

CREATE FUNCTION public.beginnings(p_place text) RETURNS SETOF text
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT ''
    UNION
    SELECT string_agg(s.segment, '/') OVER (ORDER BY s.place) || CASE WHEN s.place < s.count THEN '/' ELSE '' END
    FROM (
        SELECT u.segment, u.place, count(*) OVER () AS count
        FROM unnest(string_to_array(p_place, '/')) WITH ORDINALITY AS u (segment, place)
    ) s
$$;

CREATE TABLE public.reservations (
    issuance_id uuid NOT NULL,
    quota_id uuid NOT NULL,
    holder text NOT NULL COLLATE pg_catalog."C",
    period_start timestamp with time zone NOT NULL,
    amount bigint NOT NULL,
    issued_at timestamp with time zone NOT NULL,
    policy_seq bigint NOT NULL,
    principal text NOT NULL COLLATE pg_catalog."C",
    matched_principal text NOT NULL COLLATE pg_catalog."C",
    grant_id uuid NOT NULL,
    credential_id uuid NOT NULL,
    delivery text NOT NULL,
    action text NOT NULL,
    bucket text NOT NULL COLLATE pg_catalog."C",
    object_key text NOT NULL COLLATE pg_catalog."C",
    dead_at timestamp with time zone NOT NULL,
    check_at timestamp with time zone NOT NULL,
    CONSTRAINT reservations_amount_check CHECK ((amount > 0))
);

CREATE FUNCTION public.can_give_back(p_held public.reservations, p_proof text, p_scopes text[], p_last_seqs bigint[]) RETURNS boolean
    LANGUAGE sql STABLE
    AS $$
    SELECT (p_proof = 'left-out') = (p_held.delivery = 'multipart-part')
        AND EXISTS (
            SELECT FROM buckets b
            WHERE b.name = p_held.bucket AND (p_proof = 'left-out' OR NOT b.external_deletions)
        )
        AND EXISTS (SELECT FROM policy_log l WHERE l.seq = p_held.policy_seq)
        AND NOT EXISTS (
            SELECT FROM unnest(p_scopes, p_last_seqs) AS c (scope, last_seq)
            WHERE c.last_seq > p_held.policy_seq
                AND c.scope IN ('buckets', 'bucket:' || p_held.bucket, 'credential:' || p_held.credential_id)
        )
        AND (p_proof = 'left-out' OR (
            p_held.dead_at > statement_timestamp() - interval '24 days'
            AND NOT EXISTS (
                SELECT FROM beginnings(p_held.object_key) AS b (text)
                -- The limit makes each beginning a lookup of its own.
                CROSS JOIN LATERAL (
                    SELECT FROM deletions d
                    WHERE d.bucket = p_held.bucket AND d.object_key = b.text COLLATE "C"
                        AND d.dead_at > p_held.issued_at - interval '1 hour'
                    LIMIT 1
                ) d
            )
            AND NOT EXISTS (
                SELECT FROM remote_uploads u
                WHERE u.bucket = p_held.bucket AND u.object_key = p_held.object_key
                    AND (p_proof = 'older' OR p_held.delivery = 'remote-signature')
            )
            AND NOT EXISTS (
                SELECT FROM multipart_uploads u
                WHERE p_proof = 'older' AND u.bucket = p_held.bucket AND u.object_key = p_held.object_key
                    AND u.created_at < p_held.dead_at + interval '1 hour'
                    AND (
                        u.state NOT IN ('completed', 'aborted')
                        -- Among them are those that were given up, which the store may still have.
                        OR u.state = 'aborted' AND u.may_be_complete
                        OR u.expires_at > p_held.issued_at - interval '1 hour'
                    )
            )
        ));
$$;

CREATE FUNCTION public.claim_idempotency_key(p_id uuid, p_attempt uuid, p_caller text, p_route text, p_key_digest bytea, p_body_digest bytea, OUT verdict text, OUT id uuid, OUT attempt uuid, OUT retry_after integer, OUT issuance_ids uuid[], OUT sealed bytea, OUT key_id text) RETURNS record
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_row idempotency_keys;
    v_left interval;
BEGIN
    retry_after := 1;
    FOR i IN 1..5 LOOP
        INSERT INTO idempotency_keys AS k (id, caller, route, key_digest, body_digest, attempt, claimed_until)
        VALUES (p_id, p_caller, p_route, p_key_digest, p_body_digest, p_attempt, idempotency_claim_end())
        ON CONFLICT ON CONSTRAINT idempotency_keys_key DO NOTHING;
        IF FOUND THEN
            verdict := 'fresh';
            id := p_id;
            attempt := p_attempt;
            issuance_ids := '{}';
            RETURN;
        END IF;
        SELECT k.* INTO v_row
        FROM idempotency_keys k
        WHERE k.key_digest = p_key_digest AND k.caller = p_caller AND k.route = p_route
        FOR UPDATE SKIP LOCKED;
        IF NOT FOUND THEN
            -- Somebody holds the row, or it is gone. An answer no longer changes, so it is read without the lock.
            SELECT k.* INTO v_row
            FROM idempotency_keys k
            WHERE k.key_digest = p_key_digest AND k.caller = p_caller AND k.route = p_route;
            IF NOT FOUND THEN
                CONTINUE;
            END IF;
            IF v_row.answered_at IS NOT NULL AND v_row.created_at >= clock_timestamp() - interval '24 hours' THEN
                EXIT;
            END IF;
            verdict := 'in-flight';
            RETURN;
        END IF;
        IF v_row.created_at < clock_timestamp() - interval '24 hours' THEN
            DELETE FROM idempotency_keys k WHERE k.id = v_row.id;
            CONTINUE;
        END IF;
        EXIT;
    END LOOP;
    IF v_row.id IS NULL THEN
        verdict := 'in-flight';
        RETURN;
    END IF;

    id := v_row.id;
    issuance_ids := v_row.issuance_ids;
    v_left := v_row.claimed_until - clock_timestamp();
    IF v_row.body_digest <> p_body_digest THEN
        verdict := 'other-request';
    ELSIF v_row.answered_at IS NOT NULL THEN
        verdict := 'answered';
        attempt := v_row.attempt;
        sealed := v_row.sealed;
        key_id := v_row.key_id;
    ELSIF v_left > interval '0' THEN
        verdict := 'in-flight';
        IF v_left < idempotency_claim_end() - clock_timestamp() - interval '1 second' THEN
            retry_after := ceil(extract(epoch FROM v_left));
        END IF;
    ELSE
        UPDATE idempotency_keys k
        SET attempt = p_attempt, claimed_until = idempotency_claim_end()
        WHERE k.id = v_row.id;
        attempt := p_attempt;
        verdict := CASE
            WHEN v_row.changed_at IS NOT NULL OR cardinality(v_row.issuance_ids) > 0 THEN 'interrupted'
            ELSE 'fresh'
        END;
    END IF;
END
$$;

CREATE FUNCTION public.covering_prefixes(p_bucket text, p_place text) RETURNS SETOF text
    LANGUAGE sql STABLE
    AS $$
    SELECT beginnings(p_place)
    UNION
    SELECT t.text FROM templates_at(p_bucket, p_place) AS t (text)
    WHERE template_place(t.text, p_place) = 'covers' OR EXISTS (
        SELECT FROM grants g
        WHERE g.bucket = p_bucket AND g.prefix = t.text AND g.effect = 'deny' AND g.removed_at IS NULL
    )
$$;

CREATE FUNCTION public.create_issuances_partition(p_day date) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    SET "TimeZone" TO 'UTC'
    SET lock_timeout TO '2s'
    AS $$
DECLARE
    v_name text := 'issuances_' || to_char(p_day, 'YYYYMMDD');
    v_from timestamptz := p_day::timestamptz;
    v_to timestamptz := (p_day + 1)::timestamptz;
BEGIN
    PERFORM pg_advisory_xact_lock(advisory_lock('partitions'));
    IF to_regclass('public.' || quote_ident(v_name)) IS NOT NULL THEN
        RETURN false;
    END IF;
    EXECUTE format('CREATE TABLE public.%I (LIKE public.issuances INCLUDING ALL)', v_name);
    EXECUTE format(
        'ALTER TABLE public.%I ADD CONSTRAINT issued_on_day CHECK (issued_at >= %L AND issued_at < %L)',
        v_name, v_from, v_to
    );
    EXECUTE format(
        'ALTER TABLE public.issuances ATTACH PARTITION public.%I FOR VALUES FROM (%L) TO (%L)', v_name, v_from, v_to
    );
    EXECUTE format('ALTER TABLE public.%I DROP CONSTRAINT issued_on_day', v_name);
    RETURN true;
END
$$;

CREATE FUNCTION public.current_policy_change() RETURNS uuid
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_id uuid := nullif(current_setting('sluice.change', true), '');
BEGIN
    IF v_id IS NULL THEN
        v_id := gen_random_uuid();
        INSERT INTO policy_changes (id) VALUES (v_id);
        PERFORM set_config('sluice.change', v_id::text, true);
    END IF;
    RETURN v_id;
END
$$;

CREATE FUNCTION public.drop_issuances_partition(p_day date, p_keep_days integer, p_now timestamp with time zone) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    SET lock_timeout TO '100ms'
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

CREATE FUNCTION public.empty_issuances_partition(p_day date, p_keep_days integer, p_now timestamp with time zone) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    SET lock_timeout TO '1s'
    AS $_$
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
$_$;

CREATE FUNCTION public.expired_issuances_days(p_keep_days integer, p_now timestamp with time zone) RETURNS SETOF date
    LANGUAGE plpgsql STABLE
    SET search_path TO 'public', 'pg_temp'
    AS $$
BEGIN
    IF p_keep_days < 32 THEN
        RAISE EXCEPTION 'the ledger keeps at least 32 days' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    RETURN QUERY
        SELECT p.day
        FROM issuances_partitions() p
        WHERE p.day < (least(p_now, clock_timestamp()) AT TIME ZONE 'UTC')::date - p_keep_days
        ORDER BY p.day;
END
$$;

CREATE FUNCTION public.forget_gateway(p_id uuid) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
    DELETE FROM gateways g WHERE g.id = p_id;
$$;

CREATE FUNCTION public.forget_sums(p_starts_at timestamp with time zone) RETURNS void
    LANGUAGE sql
    AS $$
    DELETE FROM issuance_sums s WHERE s.minute >= p_starts_at AND s.minute < p_starts_at + interval '24 hours';
    DELETE FROM caller_sums s WHERE s.hour >= p_starts_at AND s.hour < p_starts_at + interval '24 hours';
    DELETE FROM caller_days s WHERE s.day = p_starts_at;
    DELETE FROM summed_caller_days d WHERE d.starts_at = p_starts_at;
    DELETE FROM summed_hours h WHERE h.starts_at >= p_starts_at AND h.starts_at < p_starts_at + interval '24 hours';
    DELETE FROM summed_days d WHERE d.starts_at = p_starts_at;
$$;

CREATE FUNCTION public.forget_sums_since(p_hour timestamp with time zone) RETURNS void
    LANGUAGE sql
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

CREATE FUNCTION public.forget_unissued_parts(p_from timestamp with time zone, p_now timestamp with time zone, OUT looked_to timestamp with time zone, OUT has_more boolean) RETURNS record
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_now timestamptz := least(p_now, clock_timestamp());
    v_from timestamptz := CASE
        WHEN p_from BETWEEN v_now - interval '1 day' AND v_now THEN p_from
        ELSE v_now - interval '1 day'
    END;
    v_issuance_ids uuid[];
BEGIN
    looked_to := greatest(v_from, least(v_from + interval '10 minutes', v_now - interval '1 hour'));
    has_more := looked_to = v_from + interval '10 minutes';
    -- Identifiers begin with the time in milliseconds: these are the least ones of their instants.
    v_issuance_ids := ARRAY(
        SELECT p.issuance_id
        FROM multipart_parts p
        WHERE p.issuance_id >= rpad(
                lpad(to_hex((extract(epoch FROM v_from) * 1000)::bigint), 12, '0'), 32, '0')::uuid
            AND p.issuance_id < rpad(
                lpad(to_hex((extract(epoch FROM looked_to) * 1000)::bigint), 12, '0'), 32, '0')::uuid
            AND NOT EXISTS (
                SELECT FROM issuances i
                WHERE i.id = p.issuance_id AND i.issued_at > v_from - interval '1 day'
                    AND i.issued_at < looked_to + interval '1 day'
                -- Keeps PostgreSQL from reading these days.
                OFFSET 0
            )
    );
    PERFORM release_multipart_parts(v_issuance_ids);
END
$$;

CREATE TABLE public.grants (
    id uuid NOT NULL,
    principal text NOT NULL COLLATE pg_catalog."C",
    bucket text NOT NULL COLLATE pg_catalog."C",
    prefix text NOT NULL COLLATE pg_catalog."C",
    is_template boolean NOT NULL,
    actions text[] NOT NULL,
    effect text NOT NULL,
    conditions jsonb DEFAULT '{}'::jsonb NOT NULL,
    not_before timestamp with time zone,
    not_after timestamp with time zone,
    note text DEFAULT ''::text NOT NULL,
    created_by text NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    created_change uuid DEFAULT public.current_policy_change() NOT NULL,
    removed_by text,
    removed_at timestamp with time zone,
    removed_change uuid,
    CONSTRAINT grants_effect_check CHECK ((effect = ANY (ARRAY['allow'::text, 'deny'::text]))),
    CONSTRAINT grants_removal_check CHECK ((num_nulls(removed_change, removed_at, removed_by) = ANY (ARRAY[0, 3]))),
    CONSTRAINT grants_validity_check CHECK ((not_before < not_after))
);

CREATE FUNCTION public.grant_document(g public.grants) RETURNS jsonb
    LANGUAGE sql STABLE
    AS $$
    SELECT CASE WHEN (g).id IS NOT NULL THEN jsonb_build_object(
        'id', (g).id, 'principal', (g).principal, 'bucket', (g).bucket, 'prefix', (g).prefix,
        'isTemplate', (g).is_template, 'actions', (g).actions, 'effect', (g).effect, 'conditions', (g).conditions,
        'notBefore', (g).not_before, 'notAfter', (g).not_after, 'note', (g).note,
        'createdBy', (g).created_by, 'createdAt', (g).created_at
    ) END
$$;

CREATE FUNCTION public.grant_fingerprint(p_principal text, p_bucket text, p_prefix text, p_is_template boolean, p_effect text, p_actions text[], p_conditions jsonb, p_not_before timestamp with time zone, p_not_after timestamp with time zone, p_note text) RETURNS bytea
    LANGUAGE sql STABLE
    AS $$
    SELECT sha256(convert_to(ROW(
        p_principal, p_bucket, p_prefix, p_is_template, p_effect,
        'PutObject' = ANY (p_actions), 'GetObject' = ANY (p_actions), 'ListObjects' = ANY (p_actions),
        'DeleteObject' = ANY (p_actions), p_conditions,
        round(extract(epoch FROM p_not_before) * 1000), round(extract(epoch FROM p_not_after) * 1000), p_note
    )::text, 'UTF8'))
$$;

CREATE FUNCTION public.grant_key(p_principal text, p_bucket text, p_prefix text, p_is_template boolean, p_effect text) RETURNS bytea
    LANGUAGE sql STABLE
    AS $$
    SELECT sha256(convert_to(ROW(p_principal, p_bucket, p_prefix, p_is_template, p_effect)::text, 'UTF8'))
$$;

CREATE FUNCTION public.grant_to_gateway(p_role name) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE
    -- What Sluice has made. Extensions and admins may have put more into the schema.
    v_functions text := (
        SELECT string_agg(p.oid::regprocedure::text, ', ') FROM pg_proc p
        WHERE p.pronamespace = 'public'::regnamespace AND p.prokind = 'f' AND pg_get_userbyid(p.proowner) = current_user
            AND NOT EXISTS (
                SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
            )
    );
    v_tables text := (
        SELECT string_agg(c.oid::regclass::text, ', ') FROM pg_class c
        WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'v')
            AND pg_get_userbyid(c.relowner) = current_user
            AND NOT EXISTS (
                SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e'
            )
    );
BEGIN
    -- PostgreSQL lets everybody execute a new function, also where there is no role to give it to.
    EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', v_functions);
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = p_role) THEN
        BEGIN
            EXECUTE format('CREATE ROLE %I NOLOGIN', p_role);
        EXCEPTION
            WHEN duplicate_object OR unique_violation THEN
                -- Another database of the cluster is being migrated.
                NULL;
            WHEN insufficient_privilege THEN
                RETURN false;
        END;
    END IF;
    EXECUTE format('REVOKE ALL ON SCHEMA public FROM %I', p_role);
    EXECUTE format('REVOKE ALL ON %s FROM %I', v_tables, p_role);
    EXECUTE format('REVOKE ALL ON FUNCTION %s FROM %I', v_functions, p_role);
    EXECUTE format('GRANT USAGE ON SCHEMA public TO %I', p_role);
    EXECUTE format('GRANT SELECT ON %s TO %I', v_tables, p_role);

    -- Policy.
    EXECUTE format('GRANT INSERT ON policy_changes, policy_log TO %I', p_role);
    EXECUTE format(
        'GRANT INSERT, UPDATE, DELETE ON storage_credentials, buckets, issuers, api_keys, event_secrets TO %I', p_role
    );
    EXECUTE format('GRANT INSERT, DELETE ON group_members TO %I', p_role);
    EXECUTE format('GRANT INSERT, UPDATE (removed_change, removed_at, removed_by) ON grants TO %I', p_role);
    -- The other columns of a quota fix what its counters mean.
    EXECUTE format('GRANT INSERT, UPDATE (quota_limit, revision), DELETE ON quotas TO %I', p_role);
    EXECUTE format('GRANT INSERT, UPDATE (sealed, key_id), DELETE ON tickets TO %I', p_role);
    EXECUTE format('GRANT INSERT, UPDATE ON ticket_revocations TO %I', p_role);

    -- The ledger.
    EXECUTE format('GRANT INSERT ON issuances, deletions, admin_audit TO %I', p_role);
    EXECUTE format('GRANT INSERT, UPDATE (used, released) ON quota_usage TO %I', p_role);
    EXECUTE format('GRANT INSERT, UPDATE (check_at), DELETE ON reservations TO %I', p_role);
    EXECUTE format('GRANT INSERT, UPDATE (count) ON denials TO %I', p_role);
    EXECUTE format('GRANT INSERT, UPDATE, DELETE ON idempotency_keys TO %I', p_role);

    -- Uploads.
    EXECUTE format('GRANT INSERT, UPDATE ON landings TO %I', p_role);
    EXECUTE format('GRANT INSERT ON store_events TO %I', p_role);
    EXECUTE format(
        'GRANT INSERT, UPDATE (state, store_upload_id, part_numbers, part_etags, etag, check_at, parts_length, '
            'parts_of_unknown_length, may_be_complete) ON multipart_uploads TO %I', p_role
    );
    EXECUTE format('GRANT INSERT, DELETE ON multipart_parts TO %I', p_role);

    EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %I', v_functions, p_role);
    EXECUTE format(
        'REVOKE EXECUTE ON FUNCTION grant_to_gateway(name), create_issuances_partition(date) FROM %I', p_role
    );
    RETURN true;
END
$$;

CREATE FUNCTION public.idempotency_claim_end() RETURNS timestamp with time zone
    LANGUAGE sql
    AS $$
    SELECT clock_timestamp() + interval '5 seconds'
$$;

CREATE FUNCTION public.index_closed_day() RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    SET "TimeZone" TO 'UTC'
    SET lock_timeout TO '100ms'
    SET maintenance_work_mem TO '256MB'
    SET max_parallel_maintenance_workers TO '0'
    AS $$
DECLARE
    v_partition text;
    v_column text;
BEGIN
    IF NOT pg_try_advisory_xact_lock(advisory_lock('indexing')) THEN
        RETURN false;
    END IF;
    SELECT d.partition, c.name
    INTO v_partition, v_column
    FROM (
        SELECT 'issuances_' || to_char(d.starts_at, 'YYYYMMDD') AS partition
        FROM summed_days d
        WHERE d.summed_to = d.starts_at + interval '24 hours' AND d.summed_to < clock_timestamp() - interval '1 hour'
    ) d
    CROSS JOIN unnest('{object_key,principal,grant_id}'::text[]) AS c (name)
    WHERE to_regclass('public.' || d.partition) IS NOT NULL
        AND to_regclass('public.' || d.partition || '_' || c.name || '_idx') IS NULL
    ORDER BY d.partition DESC, c.name
    LIMIT 1;
    IF v_partition IS NULL THEN
        RETURN false;
    END IF;
    EXECUTE format('CREATE INDEX %I ON public.%I (%I)', v_partition || '_' || v_column || '_idx', v_partition, v_column);
    RETURN true;
END
$$;

CREATE FUNCTION public.is_live_gateway(p_last_seen_at timestamp with time zone) RETURNS boolean
    LANGUAGE sql STABLE
    AS $$
    SELECT p_last_seen_at > statement_timestamp() - interval '30 seconds'
        AND p_last_seen_at <= statement_timestamp() + interval '30 seconds'
$$;

CREATE FUNCTION public.issuances_partitions() RETURNS TABLE(day date, partition regclass)
    LANGUAGE sql STABLE ROWS 60
    AS $_$
    -- CASE, so that no date is read from another table's name: conditions have no order.
    SELECT CASE WHEN c.relname ~ '^issuances_[0-9]{8}$' THEN to_date(right(c.relname, 8), 'YYYYMMDD') END,
        c.oid::regclass
    FROM pg_inherits i
    JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'public.issuances'::regclass;
$_$;

CREATE FUNCTION public.keep_membership() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        UPDATE group_member_history h
        SET removed_change = current_policy_change()
        WHERE h.member_principal = OLD.member_principal AND h.group_principal = OLD.group_principal
            AND h.removed_change IS NULL;
    ELSE
        INSERT INTO group_member_history (member_principal, group_principal, created_change)
        VALUES (NEW.member_principal, NEW.group_principal, current_policy_change())
        -- Removed and created again by one change.
        ON CONFLICT (member_principal, group_principal, created_change) DO UPDATE SET removed_change = NULL;
    END IF;
    RETURN NULL;
END
$$;

CREATE FUNCTION public.leading_segments(p_key text) RETURNS text
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN ((split_part(p_key, '/'::text, 1) || '/'::text) || split_part(p_key, '/'::text, 2));

CREATE FUNCTION public.note_gateway(p_id uuid, p_version text, p_started_at timestamp with time zone, p_sent_at timestamp with time zone, p_policy_seq bigint, p_policy_tag uuid, p_key_ids text[], p_schema_version integer, p_function_set bytea) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
    INSERT INTO gateways AS g (
        id, version, started_at, last_seen_at, policy_seq, policy_tag, clock_difference, key_ids, schema_version,
        function_set
    )
    VALUES (
        p_id, p_version, p_started_at, clock_timestamp(), p_policy_seq, p_policy_tag,
        date_part('epoch', p_sent_at - statement_timestamp()), p_key_ids, p_schema_version,
        p_function_set
    )
    ON CONFLICT (id) DO UPDATE SET
        last_seen_at = excluded.last_seen_at, policy_seq = excluded.policy_seq, policy_tag = excluded.policy_tag,
        clock_difference = excluded.clock_difference, key_ids = excluded.key_ids;
$$;

CREATE TABLE public.landings (
    issuance_id uuid NOT NULL,
    finding text NOT NULL,
    mismatches text[] DEFAULT '{}'::text[] NOT NULL,
    source text NOT NULL,
    size bigint,
    etag text,
    content_type text,
    found_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT landings_finding_check CHECK ((finding = ANY (ARRAY['absent'::text, 'landed'::text, 'mismatched'::text, 'unverified'::text]))),
    CONSTRAINT landings_mismatches_check CHECK (((mismatches <@ '{size,md5,sha256,type}'::text[]) AND ((cardinality(mismatches) > 0) = (finding = 'mismatched'::text)))),
    CONSTRAINT landings_source_check CHECK ((source = ANY (ARRAY['confirmation'::text, 'settlement'::text])))
);

CREATE FUNCTION public.note_landing(p_issuance_id uuid, p_finding text, p_mismatches text[], p_source text, p_size bigint, p_etag text, p_content_type text) RETURNS SETOF public.landings
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO landings AS l (issuance_id, finding, mismatches, source, size, etag, content_type)
    VALUES (p_issuance_id, p_finding, p_mismatches, p_source, p_size, p_etag, p_content_type)
    ON CONFLICT (issuance_id) DO UPDATE
    SET finding = p_finding, mismatches = p_mismatches, source = p_source, size = p_size, etag = p_etag,
        content_type = p_content_type, found_at = clock_timestamp()
    WHERE NOT (l.finding = 'landed' AND (l.source = 'confirmation' OR p_finding = 'absent'));
    RETURN QUERY SELECT l.* FROM landings l WHERE l.issuance_id = p_issuance_id;
END
$$;

CREATE FUNCTION public.note_landing_changes() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
BEGIN
    CASE TG_TABLE_NAME
        WHEN 'landings' THEN
            INSERT INTO landing_changes (issuance_id) SELECT n.issuance_id FROM new_rows n;
        WHEN 'store_events' THEN
            INSERT INTO landing_changes (bucket, object_key, made_at)
            SELECT n.bucket, n.object_key, n.made_at FROM new_rows n;
        ELSE
            INSERT INTO landing_changes (issuance_id) VALUES (NEW.id);
    END CASE;
    RETURN NULL;
END
$$;

CREATE FUNCTION public.note_settled_uploads(p_issuance_ids uuid[], p_landed bigint[]) RETURNS void
    LANGUAGE sql
    AS $$
    INSERT INTO landings AS l (issuance_id, finding, mismatches, source, size)
    SELECT f.id, f.finding, CASE f.finding WHEN 'mismatched' THEN '{size}'::text[] ELSE '{}' END, 'settlement',
        f.landed
    FROM (
        SELECT DISTINCT ON (s.id) s.id, s.landed,
            CASE
                WHEN s.landed IS NULL THEN 'absent'
                WHEN i.delivery = 'presigned-url' AND i.content_length <> s.landed THEN 'mismatched'
                ELSE 'landed'
            END AS finding
        FROM unnest(p_issuance_ids, p_landed) AS s (id, landed)
        CROSS JOIN LATERAL (
            SELECT i.delivery, i.content_length
            FROM issuances i
            WHERE i.id = s.id AND i.issued_at > uuid_instant(s.id) - interval '2 days'
                AND i.issued_at < uuid_instant(s.id) + interval '2 days'
            OFFSET 0
        ) i
        WHERE s.landed IS NOT NULL OR NOT EXISTS (SELECT FROM landed_uploads k WHERE k.issuance_id = s.id)
        ORDER BY s.id
    ) f
    ON CONFLICT (issuance_id) DO UPDATE
    SET finding = excluded.finding, mismatches = excluded.mismatches, source = excluded.source, size = excluded.size,
        found_at = clock_timestamp()
    WHERE l.finding = 'absent' AND excluded.finding <> 'absent';
$$;

CREATE FUNCTION public.offboard_principal(p_principal text, p_expected text, p_actor text, p_request_id text, p_credential text) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_seen text;
    v_found text;
    v_scopes text[];
    v_count bigint;
    v_gone bigint;
BEGIN
    SELECT count(*), offboarding_tag(array_agg(r.mark)) INTO v_count, v_seen FROM offboarding_rows(p_principal) r;
    IF v_count = 0 THEN
        INSERT INTO admin_audit (id, actor, request_id, credential, operation, kind, resource_id, before)
        VALUES (uuid_v7(), p_actor, p_request_id, p_credential, 'delete', 'Ticket', p_principal, '{"items": []}');
        RETURN 0;
    END IF;
    IF p_expected <> v_seen THEN
        RETURN NULL;
    END IF;
    WITH doomed AS MATERIALIZED (
        SELECT r.kind, r.id, r.revision, r.mark, r.scopes, r.document FROM offboarding_rows(p_principal) r
    ),
    gone_grants AS (
        UPDATE grants g
        SET removed_at = clock_timestamp(), removed_by = p_actor, removed_change = current_policy_change()
        FROM doomed d
        WHERE d.kind = 'Grant' AND g.id = d.id::uuid AND g.created_change = d.revision AND g.removed_at IS NULL
        RETURNING 1
    ),
    gone_members AS (
        DELETE FROM group_members m USING doomed d
        WHERE d.kind = 'GroupMember' AND m.member_principal = p_principal
            AND m.group_principal = split_part(d.id, chr(31), 1) AND m.revision = d.revision
        RETURNING 1
    ),
    gone_keys AS (
        DELETE FROM api_keys k USING doomed d WHERE d.kind = 'APIKey' AND k.id = d.id::uuid AND k.revision = d.revision
        RETURNING 1
    ),
    gone_tickets AS (
        DELETE FROM tickets t USING doomed d WHERE d.kind = 'Ticket' AND t.id = d.id::uuid AND t.revision = d.revision
        RETURNING 1
    ),
    -- In the order of those who reserve parts of several.
    open_uploads AS MATERIALIZED (
        SELECT u.id
        FROM multipart_uploads u
        JOIN doomed d ON d.kind = 'Upload' AND u.id = d.id::uuid
        WHERE u.state IN ('starting', 'open')
        ORDER BY u.id
        FOR UPDATE OF u
    ),
    closed_uploads AS (
        UPDATE multipart_uploads u SET state = 'aborting', check_at = clock_timestamp()
        FROM open_uploads o WHERE u.id = o.id
        RETURNING 1
    ),
    audited AS (
        INSERT INTO admin_audit (id, actor, request_id, credential, operation, kind, resource_id, before)
        SELECT uuid_v7(), p_actor, p_request_id, p_credential, 'delete', d.kind, d.id, d.document FROM doomed d
    )
    SELECT count(*), offboarding_tag(array_agg(w.mark)),
        (SELECT array_agg(DISTINCT s.scope) FROM doomed d CROSS JOIN LATERAL unnest(d.scopes) AS s (scope)),
        (SELECT count(*) FROM gone_grants) + (SELECT count(*) FROM gone_members) + (SELECT count(*) FROM gone_keys)
            + (SELECT count(*) FROM gone_tickets) + (SELECT count(*) FROM closed_uploads)
    INTO v_count, v_found, v_scopes, v_gone
    FROM doomed w;
    IF v_gone <> v_count OR v_found IS DISTINCT FROM v_seen THEN
        RAISE EXCEPTION 'somebody else changes what % has', p_principal USING ERRCODE = 'serialization_failure';
    END IF;
    PERFORM set_config('sluice.offboarded', p_principal, true);
    -- The user's own scope comes first: what is held of the user is read again, whatever was removed.
    PERFORM append_policy_log(
        ARRAY[p_principal] || array_remove(coalesce(v_scopes, '{}'), p_principal), p_actor, p_request_id);
    RETURN v_count;
END
$$;

CREATE FUNCTION public.offboarding_rows(p_principal text) RETURNS TABLE(kind text, id text, revision uuid, mark text, scopes text[], document jsonb)
    LANGUAGE sql STABLE
    AS $$
    SELECT r.kind, r.id, r.revision, concat_ws(chr(31), r.kind, r.id, r.revision), r.scopes, r.document FROM (
        SELECT 'Grant', g.id::text, g.created_change, ARRAY[g.principal], grant_document(g)
        FROM grants g WHERE g.principal = p_principal AND g.effect = 'allow' AND g.removed_at IS NULL
        UNION ALL
        SELECT 'GroupMember', m.group_principal || chr(31) || m.member_principal, m.revision, ARRAY[m.member_principal],
            jsonb_build_object('group', m.group_principal, 'member', m.member_principal, 'createdAt', m.created_at)
        FROM group_members m WHERE m.member_principal = p_principal
        UNION ALL
        SELECT 'APIKey', k.id::text, k.revision,
            array_remove(ARRAY['apikey:' || k.prefix, 'apikey:' || k.previous_prefix], NULL), jsonb_build_object(
            'id', k.id, 'prefix', k.prefix, 'name', k.name, 'principal', k.principal, 'groups', k.groups,
            'roles', k.roles, 'adminScopes', k.admin_scopes, 'expiresAt', k.expires_at, 'createdAt', k.created_at,
            'previousPrefix', k.previous_prefix, 'previousExpiresAt', k.previous_expires_at)
        FROM api_keys k WHERE k.principal = p_principal
        UNION ALL
        SELECT 'Ticket', t.id::text, t.revision, ARRAY['ticket:' || t.name], jsonb_build_object(
            'id', t.id, 'name', t.name, 'principal', t.principal, 'groups', t.groups, 'bucket', t.bucket,
            'prefix', t.prefix, 'actions', t.actions, 'maxUses', t.max_uses, 'expiresAt', t.expires_at,
            'createdAt', t.created_at, 'encryptsResponses', t.sealed IS NOT NULL)
        FROM tickets t WHERE t.principal = p_principal AND t.expires_at > statement_timestamp() - interval '15 minutes'
        UNION ALL
        SELECT 'Upload', u.id::text, NULL, '{}', jsonb_build_object(
            'id', u.id, 'principal', u.principal, 'bucket', u.bucket, 'key', u.object_key, 'state', u.state,
            'expiresAt', u.expires_at, 'createdAt', u.created_at)
        FROM multipart_uploads u WHERE u.principal = p_principal AND u.state IN ('starting', 'open')
    ) AS r (kind, id, revision, scopes, document)
$$;

CREATE FUNCTION public.offboarding_tag(p_marks text[]) RETURNS text
    LANGUAGE sql STABLE
    AS $$
    SELECT encode(
        sha256(convert_to(coalesce(string_agg(m.mark, chr(30) ORDER BY m.mark COLLATE "C"), ''), 'UTF8')), 'hex')
    FROM unnest(p_marks) AS m (mark)
$$;

CREATE FUNCTION public.part_length(p_upload_id uuid, p_number integer) RETURNS TABLE(known bigint, is_unknown boolean)
    LANGUAGE sql STABLE
    AS $$
    SELECT
        coalesce((
            SELECT max(m.content_length) FROM multipart_parts m
            WHERE m.upload_id = p_upload_id AND m.part_number = p_number
        ), 0),
        EXISTS (
            SELECT FROM multipart_parts m
            WHERE m.upload_id = p_upload_id AND m.part_number = p_number AND m.content_length IS NULL
        )
$$;

CREATE FUNCTION public.policy_lock_sharers() RETURNS SETOF text
    LANGUAGE sql
    AS $$
    SELECT l.virtualtransaction
    FROM pg_locks l
    WHERE l.locktype = 'advisory' AND l.granted AND l.mode = 'ShareLock'
        AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
        AND l.classid::bigint = advisory_lock('policy') >> 32
        AND l.objid::bigint = advisory_lock('policy') & 4294967295 AND l.objsubid = 1;
$$;

CREATE FUNCTION public.prepare_issuances_partitions(p_days_ahead integer) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
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

CREATE FUNCTION public.prove_actor(p_proof jsonb) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_seq bigint := (p_proof -> 'seq')::bigint;
BEGIN
    IF p_proof IS NULL THEN
        RETURN true;
    END IF;
    -- A statement of its own, so that the next one sees every change that was answered before.
    PERFORM pg_advisory_xact_lock_shared(advisory_lock('policy'));
    IF NOT EXISTS (SELECT FROM policy_log l WHERE l.seq = v_seq AND l.tag = (p_proof ->> 'tag')::uuid)
        OR EXISTS (
            SELECT FROM policy_log l
            WHERE l.seq > v_seq
                AND (
                    l.scopes && ARRAY(SELECT jsonb_array_elements_text(p_proof -> 'scopes'))
                    -- A change of many grants lists those who vouch for callers: mostly none.
                    OR 'all' = ANY (l.scopes) AND 'callers' <> ALL (l.scopes)
                )
        )
    THEN
        RAISE EXCEPTION 'the credential of the change may have been changed' USING ERRCODE = 'SL001';
    END IF;
    RETURN true;
END
$$;

CREATE FUNCTION public.prove_issuances(p_position_seqs bigint[], p_position_tags uuid[], p_scopes text[], p_item_positions integer[], p_scope_ends integer[], p_scope_refs integer[], p_ids uuid[], p_principals text[], p_credential_ids uuid[], p_deliveries text[], p_actions text[], p_methods text[], p_buckets text[], p_object_keys text[], p_expires_at timestamp with time zone[], p_content_types text[], p_content_md5s bytea[], p_content_lengths bigint[], p_charge_ends integer[], p_charge_amounts bigint[]) RETURNS integer[]
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_verdicts integer[];
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'proving needs read committed' USING ERRCODE = 'invalid_transaction_state';
    END IF;
    -- A statement of its own, so that the next one sees every change that was answered before.
    PERFORM pg_advisory_xact_lock_shared(advisory_lock('policy'));
    v_verdicts := stale_verdicts(
        p_position_seqs, p_position_tags, p_scopes, p_item_positions, p_scope_ends, p_scope_refs
    );
    RETURN ARRAY(
        WITH recorded AS MATERIALIZED (
            SELECT p AS item, i.policy_seq, i.principal = p_principals[p] AND i.credential_id = p_credential_ids[p]
                AND i.delivery = p_deliveries[p] AND i.action = p_actions[p] AND i.method = p_methods[p]
                AND i.bucket = p_buckets[p] AND i.object_key = p_object_keys[p] AND i.expires_at = p_expires_at[p]
                AND i.content_type IS NOT DISTINCT FROM p_content_types[p]
                AND i.content_md5 IS NOT DISTINCT FROM p_content_md5s[p]
                AND i.content_length IS NOT DISTINCT FROM p_content_lengths[p]
                AND coalesce(
                    (SELECT max(a) FROM unnest(p_charge_amounts[p_charge_ends[p] + 1:p_charge_ends[p + 1]]) AS a), 0
                ) <= greatest(1, i.content_length, (SELECT max(a) FROM unnest(i.quota_amounts) AS a)) AS is_same
            FROM generate_series(1, cardinality(p_ids)) AS p
            LEFT JOIN issuances i ON i.id = p_ids[p] AND i.issued_at > statement_timestamp() - interval '26 hours'
        ),
        changes AS MATERIALIZED (
            SELECT l.seq, l.scopes
            FROM policy_log l
            WHERE l.seq > (SELECT min(r.policy_seq) FROM recorded r)
                AND l.scopes
                    && ARRAY(SELECT 'buckets' UNION SELECT 'bucket:' || b FROM unnest(p_buckets) AS b) COLLATE "C"
        )
        SELECT CASE WHEN v_verdicts[r.item] <> 0 THEN v_verdicts[r.item] WHEN r.is_same AND NOT EXISTS (
            SELECT FROM changes c
            WHERE c.seq > r.policy_seq AND c.scopes && ARRAY['buckets', 'bucket:' || p_buckets[r.item]] COLLATE "C"
        ) THEN 0 ELSE -2 END
        FROM recorded r
        ORDER BY r.item
    );
END
$$;

CREATE FUNCTION public.prune_counters(p_now timestamp with time zone, p_most integer) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
    -- An hour late, since a recording of the period's last instant may still be under way.
    v_now timestamptz := least(p_now, clock_timestamp()) - interval '1 hour';
    v_count integer;
BEGIN
    WITH RECURSIVE counted (id) AS (
        (SELECT u.quota_id FROM quota_usage u ORDER BY u.quota_id LIMIT 1)
        UNION ALL
        SELECT n.quota_id
        FROM counted c
        CROSS JOIN LATERAL (
            SELECT u.quota_id FROM quota_usage u WHERE u.quota_id > c.id ORDER BY u.quota_id LIMIT 1
        ) n
    )
    DELETE FROM quota_usage u
    USING (
        SELECT o.quota_id, o.holder, o.period_start
        FROM counted c
        LEFT JOIN quotas q ON q.id = c.id
        CROSS JOIN LATERAL (
            SELECT o.quota_id, o.holder, o.period_start
            FROM quota_usage o
            WHERE o.quota_id = c.id
                AND o.period_start < CASE
                    WHEN q.id IS NOT NULL THEN quota_period_start(q.period, v_now)
                    WHEN EXISTS (SELECT FROM tickets t WHERE t.id = c.id) THEN '-infinity'
                    ELSE 'infinity'
                END
            LIMIT p_most
            FOR UPDATE SKIP LOCKED
        ) o
        LIMIT p_most
    ) old
    WHERE u.quota_id = old.quota_id AND u.holder = old.holder AND u.period_start = old.period_start;
    GET DIAGNOSTICS v_count = ROW_COUNT;
    RETURN v_count;
END
$$;

CREATE FUNCTION public.prune_deletions(p_now timestamp with time zone, p_most integer) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
DECLARE
    v_before timestamptz := least(p_now, clock_timestamp()) - interval '33 days';
    v_count integer;
BEGIN
    DELETE FROM deletions d
    WHERE d.ctid = ANY (ARRAY(
        SELECT o.ctid FROM deletions o
        WHERE o.dead_at < v_before
        ORDER BY o.dead_at
        LIMIT p_most
        FOR UPDATE SKIP LOCKED
    ));
    GET DIAGNOSTICS v_count = ROW_COUNT;
    RETURN v_count;
END
$$;

CREATE FUNCTION public.prune_denials(p_keep_days integer, p_now timestamp with time zone, p_most integer) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
DECLARE
    v_before timestamptz := least(p_now, clock_timestamp()) - make_interval(days => greatest(p_keep_days, 1));
    v_count integer;
BEGIN
    DELETE FROM denials d
    WHERE d.ctid = ANY (ARRAY(
        SELECT o.ctid FROM denials o
        WHERE o.minute < v_before
        ORDER BY o.minute
        LIMIT p_most
        FOR UPDATE SKIP LOCKED
    ));
    GET DIAGNOSTICS v_count = ROW_COUNT;
    RETURN v_count;
END
$$;

CREATE FUNCTION public.prune_landings(p_keep_days integer, p_now timestamp with time zone, p_most integer) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
DECLARE
    v_events integer;
    v_landings integer;
    v_counted integer;
    v_now timestamptz := least(p_now, clock_timestamp());
    v_end timestamptz := v_now - greatest(p_keep_days, 32) * interval '1 day';
    v_before uuid;
BEGIN
    SELECT least(v_end, min(p.day)::timestamp AT TIME ZONE 'UTC') INTO v_end FROM issuances_partitions() p;
    -- Identifiers begin with the time in milliseconds: this is the least one of its instant.
    v_before := rpad(
        lpad(to_hex(extract(epoch FROM v_end - interval '2 days')::bigint * 1000), 12, '0'), 32, '0')::uuid;
    DELETE FROM store_events e
    WHERE e.ctid = ANY (ARRAY(
        SELECT o.ctid FROM store_events o
        WHERE o.received_at < v_now - interval '10 days'
        ORDER BY o.received_at LIMIT p_most
        FOR UPDATE SKIP LOCKED
    ));
    GET DIAGNOSTICS v_events = ROW_COUNT;
    DELETE FROM landings l
    WHERE p_keep_days IS NOT NULL AND l.issuance_id = ANY (ARRAY(
        SELECT o.issuance_id FROM landings o
        WHERE o.issuance_id < v_before
        ORDER BY o.issuance_id LIMIT p_most
        FOR UPDATE SKIP LOCKED
    ));
    GET DIAGNOSTICS v_landings = ROW_COUNT;
    DELETE FROM landed_uploads l
    WHERE p_keep_days IS NOT NULL AND l.issuance_id = ANY (ARRAY(
        SELECT o.issuance_id FROM landed_uploads o
        WHERE o.issuance_id < v_before
        ORDER BY o.issuance_id LIMIT p_most
        FOR UPDATE SKIP LOCKED
    ));
    GET DIAGNOSTICS v_counted = ROW_COUNT;
    RETURN v_events + v_landings + v_counted;
END
$$;

CREATE FUNCTION public.prune_multipart_uploads(p_keep_days integer, p_now timestamp with time zone, p_most integer) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
DECLARE
    v_before timestamptz := least(p_now, clock_timestamp()) - make_interval(days => greatest(p_keep_days, 33));
    v_count integer;
BEGIN
    DELETE FROM multipart_uploads u
    WHERE u.id = ANY (ARRAY(
        SELECT o.id FROM multipart_uploads o
        WHERE o.state IN ('completed', 'aborted') AND o.expires_at < v_before
        ORDER BY o.expires_at
        LIMIT p_most
        FOR UPDATE SKIP LOCKED
    ));
    GET DIAGNOSTICS v_count = ROW_COUNT;
    RETURN v_count;
END
$$;

CREATE FUNCTION public.prune_policy_log(p_now timestamp with time zone, p_most integer) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS $$
DECLARE
    v_now timestamptz := least(p_now, clock_timestamp());
    v_below bigint;
    v_removed integer;
BEGIN
    DELETE FROM gateways g
    WHERE g.last_seen_at < v_now - interval '1 day'
        -- The clock was set back, and a gateway that runs would have been seen since.
        OR g.last_seen_at > clock_timestamp() + interval '1 day';
    IF NOT pg_try_advisory_xact_lock(advisory_lock('pruning')) THEN
        RETURN 0;
    END IF;
    SELECT least(
        (SELECT max(l.seq) FROM policy_log l),
        (SELECT min(l.seq) FROM policy_log l) + p_most,
        (SELECT min(g.policy_seq) FROM gateways g WHERE is_live_gateway(g.last_seen_at)),
        -- A decision of 32 days ago was made at this line, however old the line was then.
        coalesce((SELECT max(l.seq) FROM policy_log l WHERE l.at <= v_now - interval '32 days'), 0)
    ) INTO v_below;

    INSERT INTO past_changes (tag, seq, at)
    SELECT l.tag, l.seq, l.at
    FROM policy_log l
    WHERE l.seq < v_below
        AND (
            EXISTS (SELECT FROM grants g WHERE g.created_change = l.tag)
            OR EXISTS (SELECT FROM grants g WHERE g.removed_change = l.tag)
            OR EXISTS (SELECT FROM group_member_history h WHERE h.created_change = l.tag)
            OR EXISTS (SELECT FROM group_member_history h WHERE h.removed_change = l.tag)
            OR EXISTS (SELECT FROM storage_credentials s WHERE s.rotated_change = l.tag)
        );
    DELETE FROM policy_changes c USING policy_log l
    WHERE l.seq < v_below AND c.id = l.tag AND NOT EXISTS (SELECT FROM past_changes p WHERE p.tag = l.tag);
    DELETE FROM policy_log l WHERE l.seq < v_below;
    GET DIAGNOSTICS v_removed = ROW_COUNT;
    RETURN v_removed;
END
$$;

CREATE FUNCTION public.prune_refusals(p_keep_days integer, p_keep_rows bigint, p_now timestamp with time zone, p_most integer) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
DECLARE
    v_before timestamptz := least(p_now, clock_timestamp()) - make_interval(days => greatest(p_keep_days, 1));
    v_rows integer;
    v_gaps integer;
BEGIN
    -- Rows are added in the order of their times but for seconds, so the oldest have the lowest ordinals. Ordinals that
    -- were never used make the number of rows smaller than this assumes, never larger.
    DELETE FROM refusals r
    WHERE r.ordinal = ANY (ARRAY(
        SELECT o.ordinal FROM (
            SELECT f.ordinal, f.refused_at FROM refusals f ORDER BY f.ordinal LIMIT p_most FOR UPDATE SKIP LOCKED
        ) o
        WHERE o.refused_at < v_before
            OR o.ordinal <= (SELECT max(l.ordinal) FROM refusals l) - greatest(p_keep_rows, 0)
    ));
    GET DIAGNOSTICS v_rows = ROW_COUNT;
    DELETE FROM refusal_gaps g
    WHERE g.minute = ANY (ARRAY(
        SELECT o.minute FROM refusal_gaps o WHERE o.minute < v_before LIMIT p_most FOR UPDATE SKIP LOCKED
    ));
    GET DIAGNOSTICS v_gaps = ROW_COUNT;
    RETURN v_rows + v_gaps;
END
$$;

CREATE FUNCTION public.prune_tickets(p_now timestamp with time zone, p_most integer) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
DECLARE
    v_before timestamptz := least(p_now, clock_timestamp()) - interval '1 day';
    v_count integer;
BEGIN
    DELETE FROM tickets t
    WHERE t.id = ANY (ARRAY(
        SELECT o.id FROM tickets o
        WHERE o.expires_at < v_before
        ORDER BY o.expires_at
        LIMIT p_most
        FOR UPDATE SKIP LOCKED
    ));
    GET DIAGNOSTICS v_count = ROW_COUNT;
    RETURN v_count;
END
$$;

CREATE TABLE public.quotas (
    id uuid NOT NULL,
    principal text NOT NULL COLLATE pg_catalog."C",
    bucket text COLLATE pg_catalog."C",
    action text,
    metric text NOT NULL,
    period text NOT NULL,
    sharing text NOT NULL,
    quota_limit bigint NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    revision uuid DEFAULT gen_random_uuid() NOT NULL,
    CONSTRAINT quotas_bytes_action_check CHECK (((metric = 'urls'::text) OR (NOT (action IS DISTINCT FROM 'PutObject'::text)))),
    CONSTRAINT quotas_limit_check CHECK ((quota_limit >= 0)),
    CONSTRAINT quotas_metric_check CHECK ((metric = ANY (ARRAY['urls'::text, 'bytes'::text]))),
    CONSTRAINT quotas_period_check CHECK ((period = ANY (ARRAY['minute'::text, 'hour'::text, 'day'::text, 'month'::text, 'total'::text]))),
    CONSTRAINT quotas_sharing_check CHECK ((sharing = ANY (ARRAY['each'::text, 'shared'::text])))
);

CREATE FUNCTION public.quota_charges(p_quota public.quotas, p_holder text, p_from timestamp with time zone, p_to timestamp with time zone) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
BEGIN
    RETURN (
        SELECT coalesce(sum(c.amount), 0)
        FROM issuances i
        CROSS JOIN LATERAL unnest(i.quota_ids, i.quota_amounts) AS c (quota_id, amount)
        WHERE i.issued_at >= p_from AND i.issued_at < p_to
            AND i.quota_ids @> ARRAY[p_quota.id] AND c.quota_id = p_quota.id
            AND p_holder = CASE p_quota.sharing WHEN 'shared' THEN p_quota.principal ELSE i.principal END
    );
END
$$;

CREATE FUNCTION public.quota_period_end(p_period text, p_start timestamp with time zone) RETURNS timestamp with time zone
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

CREATE FUNCTION public.quota_period_start(p_period text, p_at timestamp with time zone) RETURNS timestamp with time zone
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

CREATE FUNCTION public.record_issuance(p_sent_at timestamp with time zone, p_max_difference double precision, p_position_seq bigint, p_position_tag uuid, p_scopes text[], p_id uuid, p_principal text, p_matched_principal text, p_grant_id uuid, p_credential_id uuid, p_delivery text, p_action text, p_method text, p_bucket text, p_object_key text, p_expires_at timestamp with time zone, p_content_type text, p_content_md5 bytea, p_content_length bigint, p_request_id text, p_quota_id uuid, p_holder text, p_period text, p_shared boolean, p_amount bigint, p_limit bigint, p_reserves boolean) RETURNS bigint[]
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_ahead double precision := date_part('epoch', statement_timestamp() - p_sent_at);
    v_lock text;
    v_is_latest boolean;
    v_now timestamptz;
    v_start timestamptz;
    v_resets_in bigint;
    v_used bigint;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'recording needs read committed' USING ERRCODE = 'invalid_transaction_state';
    END IF;
    -- Compared with the time at which the statement arrived, so that waiting for locks does not count.
    IF abs(v_ahead) <= p_max_difference IS NOT TRUE THEN
        RETURN ARRAY[-2, (1000 * v_ahead)::bigint];
    END IF;
    -- An assignment, since PERFORM would start the executor.
    v_lock := pg_advisory_xact_lock_shared(advisory_lock('policy'));

    -- In most calls nothing has changed for anybody since the decision.
    SELECT l.seq = p_position_seq AND l.tag = p_position_tag INTO v_is_latest
    FROM policy_log l ORDER BY l.seq DESC LIMIT 1;
    IF v_is_latest IS NOT TRUE THEN
        IF NOT EXISTS (SELECT FROM policy_log l WHERE l.seq = p_position_seq AND l.tag = p_position_tag)
            OR EXISTS (
                SELECT FROM policy_log l WHERE l.seq > p_position_seq AND l.scopes && (p_scopes || 'all'::text)
            )
        THEN
            RETURN '{-1}';
        END IF;
    END IF;

    v_now := clock_timestamp();
    IF p_quota_id IS NOT NULL THEN
        v_start := quota_period_start(p_period, v_now);
        v_resets_in := ceil(date_part('epoch', quota_period_end(p_period, v_start) - v_now));
        LOOP
            UPDATE quota_usage u
            SET used = u.used + p_amount
            WHERE u.quota_id = p_quota_id AND u.holder = p_holder AND u.period_start = v_start
                AND u.used <= p_limit - p_amount
            RETURNING u.used INTO v_used;
            EXIT WHEN FOUND;
            SELECT u.used INTO v_used
            FROM quota_usage u
            WHERE u.quota_id = p_quota_id AND u.holder = p_holder AND u.period_start = v_start;
            IF p_amount > p_limit - coalesce(v_used, 0) THEN
                RETURN ARRAY[1, coalesce(v_used, 0), v_resets_in];
            END IF;
            -- Either nobody has used the quota in this period, or room was made between the two statements.
            INSERT INTO quota_usage (quota_id, holder, period_start, shared, used)
            VALUES (p_quota_id, p_holder, v_start, p_shared, 0)
            ON CONFLICT DO NOTHING;
        END LOOP;
    END IF;

    -- Few credentials permit several actions, and only sessions bind no method. No column alone can tell.
    IF strpos(p_action, ',') > 0 AND p_delivery NOT IN ('sts', 'cdn-cookies') OR p_method = '*' AND p_delivery <> 'sts'
    THEN
        PERFORM refuse_action_or_method(p_delivery, p_method);
    END IF;
    INSERT INTO issuances (
        id, issued_at, policy_seq, principal, matched_principal, grant_id, credential_id, delivery, action, method,
        bucket, object_key, expires_at, content_type, content_md5, content_length, request_id, quota_ids, quota_amounts
    )
    VALUES (
        p_id, v_now, p_position_seq, p_principal, p_matched_principal, p_grant_id, p_credential_id, p_delivery,
        p_action, p_method, p_bucket, p_object_key, p_expires_at, p_content_type, p_content_md5, p_content_length,
        p_request_id,
        CASE WHEN p_quota_id IS NOT NULL THEN ARRAY[p_quota_id] END,
        CASE WHEN p_quota_id IS NOT NULL THEN ARRAY[p_amount] END
    );
    IF p_reserves AND p_amount > 0 THEN
        INSERT INTO reservations (
            issuance_id, quota_id, holder, period_start, amount, issued_at, policy_seq, principal, matched_principal,
            grant_id, credential_id, delivery, action, bucket, object_key, dead_at, check_at
        )
        VALUES (
            p_id, p_quota_id, p_holder, v_start, p_amount, v_now, p_position_seq, p_principal, p_matched_principal,
            p_grant_id, p_credential_id, p_delivery, p_action, p_bucket, p_object_key,
            -- By the later of both clocks.
            greatest(p_expires_at, v_now + (p_expires_at - p_sent_at)),
            greatest(p_expires_at, v_now + (p_expires_at - p_sent_at))
        );
    END IF;
    -- Whoever may delete an object can hide that it arrived. At Alibaba OSS, so can a session that uploads: a symbolic
    -- link to nothing takes the object's place, and answers as if there were none.
    IF strpos(p_action, 'DeleteObject') > 0
        OR p_delivery = 'sts' AND strpos(p_action, 'PutObject') > 0
            AND EXISTS (SELECT FROM buckets b WHERE b.name = p_bucket AND b.provider = 'oss')
    THEN
        INSERT INTO deletions (principal, issuance_id, bucket, object_key, dead_at)
        VALUES (
            p_principal, p_id, p_bucket, p_object_key, greatest(p_expires_at, v_now + (p_expires_at - p_sent_at))
        );
    END IF;
    RETURN ARRAY[0, v_used, v_resets_in];
END
$$;

CREATE FUNCTION public.record_issuances(p_sent_at timestamp with time zone, p_max_difference double precision, p_position_seqs bigint[], p_position_tags uuid[], p_scopes text[], p_item_positions integer[], p_scope_ends integer[], p_scope_refs integer[], p_ids uuid[], p_principals text[], p_matched_principals text[], p_grant_ids uuid[], p_credential_ids uuid[], p_deliveries text[], p_actions text[], p_methods text[], p_buckets text[], p_object_keys text[], p_expires_at timestamp with time zone[], p_content_types text[], p_content_md5s bytea[], p_content_lengths bigint[], p_request_ids text[], p_quota_ids uuid[], p_quota_periods text[], p_quota_shared boolean[], p_quota_reserves boolean[], p_quota_limits bigint[], p_slot_ends integer[], p_slot_holders text[], p_slot_amounts bigint[], p_one_by_one boolean, p_charge_ends integer[], p_charge_quotas uuid[], p_charge_slots integer[], p_charge_amounts bigint[], OUT verdicts integer[], OUT uses bigint[], OUT resets_in integer[], OUT ahead double precision) RETURNS record
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_ahead double precision := date_part('epoch', statement_timestamp() - p_sent_at);
    v_lock text;
    v_is_latest boolean;
    v_now timestamptz;
    v_start timestamptz;
    v_starts timestamptz[];
    v_quotas integer[];
    v_first integer := 1;
    v_limit bigint;
    v_taken bigint[] := p_slot_amounts;
    v_holders text[];
    v_uses bigint[];
    v_used bigint[];
    v_next integer;
    v_room bigint;
    v_slot integer;
    v_reserves boolean := false;
    v_actions text;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'recording needs read committed' USING ERRCODE = 'invalid_transaction_state';
    END IF;
    -- Compared with the time at which the statement arrived, so that waiting for locks does not count.
    IF abs(v_ahead) <= p_max_difference IS NOT TRUE THEN
        ahead := v_ahead;
        RETURN;
    END IF;
    -- An assignment, since PERFORM would start the executor.
    v_lock := pg_advisory_xact_lock_shared(advisory_lock('policy'));

    -- In most calls nothing has changed since the decisions, or nothing that concerns this batch.
    SELECT l.seq = ALL (p_position_seqs) AND l.tag = ALL (p_position_tags) INTO v_is_latest
    FROM policy_log l ORDER BY l.seq DESC LIMIT 1;
    IF v_is_latest IS NOT TRUE THEN
        IF (SELECT count(*) FROM unnest(p_position_seqs, p_position_tags) AS p (seq, tag)
                JOIN policy_log l ON l.seq = p.seq AND l.tag = p.tag) < cardinality(p_position_seqs)
            OR EXISTS (
                SELECT FROM policy_log l
                WHERE l.seq > (SELECT min(p.seq) FROM unnest(p_position_seqs) AS p (seq))
                    AND l.scopes && (p_scopes || 'all'::text)
            )
        THEN
            verdicts := stale_verdicts(
                p_position_seqs, p_position_tags, p_scopes, p_item_positions, p_scope_ends, p_scope_refs
            );
            IF NOT 0 = ANY (verdicts) THEN
                RETURN;
            ELSIF 0 = ALL (verdicts) THEN
                verdicts := NULL;
            ELSE
                v_taken := array_fill(0::bigint, ARRAY[cardinality(p_slot_holders)]);
            END IF;
        END IF;
    END IF;

    v_now := clock_timestamp();
    FOR v_quota IN 1..cardinality(p_quota_ids) LOOP
        v_start := quota_period_start(p_quota_periods[v_quota], v_now);
        resets_in[v_quota] := ceil(date_part('epoch', quota_period_end(p_quota_periods[v_quota], v_start) - v_now));
        v_starts[v_quota] := v_start;

        -- Locks every counter that exists, also one without room.
        v_limit := p_quota_limits[v_quota];
        v_reserves := v_reserves OR p_quota_reserves[v_quota];
        WITH taken AS (
            INSERT INTO quota_usage AS u (quota_id, holder, period_start, shared, used)
            SELECT p_quota_ids[v_quota], p_slot_holders[s], v_starts[v_quota], p_quota_shared[v_quota], v_taken[s]
            FROM generate_series(v_first, p_slot_ends[v_quota]) AS s
            ON CONFLICT (quota_id, holder, period_start) DO UPDATE SET used = u.used + excluded.used
            WHERE u.used <= v_limit - excluded.used
            RETURNING u.holder, u.used
        )
        SELECT array_agg(t.holder), array_agg(t.used) INTO v_holders, v_uses FROM taken t;

        IF cardinality(v_uses) IS DISTINCT FROM p_slot_ends[v_quota] - v_first + 1 THEN
            p_one_by_one := true;
            v_next := 1;
            FOR s IN v_first..p_slot_ends[v_quota] LOOP
                IF v_holders[v_next] = p_slot_holders[s] THEN
                    uses[s] := v_uses[v_next];
                    v_next := v_next + 1;
                ELSE
                    v_taken[s] := 0;
                    uses[s] := (
                        SELECT u.used
                        FROM quota_usage u
                        WHERE u.quota_id = p_quota_ids[v_quota] AND u.holder = p_slot_holders[s]
                            AND u.period_start = v_start
                    );
                END IF;
            END LOOP;
        ELSE
            uses := uses || v_uses;
        END IF;
        v_first := p_slot_ends[v_quota] + 1;
    END LOOP;

    -- The quota of each counter, which few calls need.
    IF p_one_by_one OR verdicts IS NOT NULL OR v_reserves THEN
        v_next := 1;
        FOR s IN 1..cardinality(p_slot_holders) LOOP
            WHILE s > p_slot_ends[v_next] LOOP
                v_next := v_next + 1;
            END LOOP;
            v_quotas[s] := v_next;
        END LOOP;
    END IF;

    -- All counters are locked. Items are admitted in their order, starting from what was used before this call.
    IF p_one_by_one OR verdicts IS NOT NULL THEN
        verdicts := coalesce(verdicts, array_fill(0, ARRAY[cardinality(p_ids)]));
        FOR s IN 1..cardinality(p_slot_holders) LOOP
            v_used[s] := uses[s] - v_taken[s];
        END LOOP;
        FOR i IN 1..cardinality(p_ids) LOOP
            CONTINUE WHEN verdicts[i] <> 0;
            FOR c IN p_charge_ends[i] + 1..p_charge_ends[i + 1] LOOP
                v_slot := p_charge_slots[c];
                v_room := p_quota_limits[v_quotas[v_slot]] - v_used[v_slot];
                IF p_charge_amounts[c] > v_room THEN
                    verdicts[i] := c;
                    FOR d IN p_charge_ends[i] + 1..c - 1 LOOP
                        v_used[p_charge_slots[d]] := v_used[p_charge_slots[d]] - p_charge_amounts[d];
                    END LOOP;
                    EXIT;
                END IF;
                v_used[v_slot] := v_used[v_slot] + p_charge_amounts[c];
            END LOOP;
        END LOOP;
        UPDATE quota_usage u
        SET used = v_used[s]
        FROM generate_series(1, cardinality(p_slot_holders)) AS s
        WHERE u.quota_id = p_quota_ids[v_quotas[s]] AND u.holder = p_slot_holders[s]
            AND u.period_start = v_starts[v_quotas[s]] AND v_used[s] <> uses[s];
        uses := v_used;
    END IF;

    -- Few credentials permit several actions, and only sessions bind no method. No column alone can tell. Items that
    -- are not recorded are not held to it. One text of all actions answers quickly for most batches.
    v_actions := array_to_string(p_actions, ' ');
    IF strpos(v_actions, ',') > 0 OR '*' = ANY (p_methods) THEN
        FOR i IN 1..cardinality(p_ids) LOOP
            IF (verdicts IS NULL OR verdicts[i] = 0)
                AND (
                    strpos(p_actions[i], ',') > 0 AND p_deliveries[i] NOT IN ('sts', 'cdn-cookies')
                    OR p_methods[i] = '*' AND p_deliveries[i] <> 'sts'
                )
            THEN
                PERFORM refuse_action_or_method(p_deliveries[i], p_methods[i]);
            END IF;
        END LOOP;
    END IF;
    INSERT INTO issuances (
        id, issued_at, policy_seq, principal, matched_principal, grant_id, credential_id, delivery, action, method,
        bucket, object_key, expires_at, content_type, content_md5, content_length, request_id, quota_ids, quota_amounts
    )
    SELECT p_ids[i], v_now, p_position_seqs[p_item_positions[i]], p_principals[i], p_matched_principals[i],
        p_grant_ids[i], p_credential_ids[i], p_deliveries[i], p_actions[i], p_methods[i], p_buckets[i],
        p_object_keys[i], p_expires_at[i], p_content_types[i], p_content_md5s[i], p_content_lengths[i],
        p_request_ids[i],
        CASE p_charge_ends[i + 1] - p_charge_ends[i]
            WHEN 0 THEN NULL WHEN 1 THEN ARRAY[p_charge_quotas[p_charge_ends[i + 1]]]
            ELSE p_charge_quotas[p_charge_ends[i] + 1:p_charge_ends[i + 1]] END,
        CASE p_charge_ends[i + 1] - p_charge_ends[i]
            WHEN 0 THEN NULL WHEN 1 THEN ARRAY[p_charge_amounts[p_charge_ends[i + 1]]]
            ELSE p_charge_amounts[p_charge_ends[i] + 1:p_charge_ends[i + 1]] END
    FROM generate_series(1, cardinality(p_ids)) AS i
    WHERE verdicts IS NULL OR verdicts[i] = 0;

    -- Whoever may delete an object can hide that it arrived; at Alibaba OSS also a session that uploads (see
    -- record_issuance).
    IF strpos(v_actions, 'DeleteObject') > 0 OR 'sts' = ANY (p_deliveries) THEN
        INSERT INTO deletions (principal, issuance_id, bucket, object_key, dead_at)
        SELECT p_principals[i], p_ids[i], p_buckets[i], p_object_keys[i],
            greatest(p_expires_at[i], v_now + (p_expires_at[i] - p_sent_at))
        FROM generate_series(1, cardinality(p_ids)) AS i
        WHERE (verdicts IS NULL OR verdicts[i] = 0)
            AND (
                strpos(p_actions[i], 'DeleteObject') > 0
                OR p_deliveries[i] = 'sts' AND strpos(p_actions[i], 'PutObject') > 0
                    AND EXISTS (SELECT FROM buckets b WHERE b.name = p_buckets[i] AND b.provider = 'oss')
            );
    END IF;
    IF v_reserves THEN
        INSERT INTO reservations (
            issuance_id, quota_id, holder, period_start, amount, issued_at, policy_seq, principal, matched_principal,
            grant_id, credential_id, delivery, action, bucket, object_key, dead_at, check_at
        )
        SELECT p_ids[i], p_charge_quotas[c], p_slot_holders[s.slot], v_starts[v_quotas[s.slot]], p_charge_amounts[c],
            v_now, p_position_seqs[p_item_positions[i]], p_principals[i], p_matched_principals[i], p_grant_ids[i],
            p_credential_ids[i], p_deliveries[i], p_actions[i], p_buckets[i], p_object_keys[i], d.dead_at, d.dead_at
        FROM generate_series(1, cardinality(p_ids)) AS i
        CROSS JOIN LATERAL generate_series(p_charge_ends[i] + 1, p_charge_ends[i + 1]) AS c
        CROSS JOIN LATERAL (SELECT p_charge_slots[c] AS slot) s
        CROSS JOIN LATERAL (
            SELECT greatest(p_expires_at[i], v_now + (p_expires_at[i] - p_sent_at)) AS dead_at
        ) d
        WHERE (verdicts IS NULL OR verdicts[i] = 0) AND p_quota_reserves[v_quotas[s.slot]] AND p_charge_amounts[c] > 0;
    END IF;
END
$$;

CREATE FUNCTION public.record_issuances_once(p_key_id uuid, p_attempt uuid, p_sent_at timestamp with time zone, p_max_difference double precision, p_position_seqs bigint[], p_position_tags uuid[], p_scopes text[], p_item_positions integer[], p_scope_ends integer[], p_scope_refs integer[], p_ids uuid[], p_principals text[], p_matched_principals text[], p_grant_ids uuid[], p_credential_ids uuid[], p_deliveries text[], p_actions text[], p_methods text[], p_buckets text[], p_object_keys text[], p_expires_at timestamp with time zone[], p_content_types text[], p_content_md5s bytea[], p_content_lengths bigint[], p_request_ids text[], p_quota_ids uuid[], p_quota_periods text[], p_quota_shared boolean[], p_quota_reserves boolean[], p_quota_limits bigint[], p_slot_ends integer[], p_slot_holders text[], p_slot_amounts bigint[], p_one_by_one boolean, p_charge_ends integer[], p_charge_quotas uuid[], p_charge_slots integer[], p_charge_amounts bigint[], OUT refusal text, OUT on_record uuid[], OUT verdicts integer[], OUT uses bigint[], OUT resets_in integer[], OUT ahead double precision) RETURNS record
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_attempt uuid;
    v_recorded uuid[];
    v_tags bytea[];
    v_known integer := 0;
    v_fits integer := 0;
BEGIN
    SELECT k.attempt, k.issuance_ids INTO v_attempt, v_recorded
    FROM idempotency_keys k WHERE k.id = p_key_id FOR UPDATE;
    IF v_attempt IS DISTINCT FROM p_attempt THEN
        refusal := CASE WHEN v_attempt IS NULL THEN 'gone' ELSE 'taken' END;
        RETURN;
    END IF;

    IF cardinality(v_recorded) > 0 THEN
        -- The bytes after the time in an identifier are derived from the item of the request.
        v_tags := ARRAY(SELECT substr(uuid_send(r.id), 7) FROM unnest(v_recorded) AS r (id));
        FOR i IN 1..cardinality(p_ids) LOOP
            IF substr(uuid_send(p_ids[i]), 7) = ANY (v_tags) THEN
                v_known := v_known + 1;
            END IF;
            IF p_ids[i] = ANY (v_recorded) THEN
                v_fits := v_fits + 1;
            END IF;
        END LOOP;
    END IF;

    IF v_known = 0 THEN
        SELECT r.verdicts, r.uses, r.resets_in, r.ahead INTO verdicts, uses, resets_in, ahead
        FROM record_issuances(
            p_sent_at, p_max_difference, p_position_seqs, p_position_tags, p_scopes, p_item_positions, p_scope_ends,
            p_scope_refs, p_ids, p_principals, p_matched_principals, p_grant_ids, p_credential_ids, p_deliveries,
            p_actions, p_methods, p_buckets, p_object_keys, p_expires_at, p_content_types, p_content_md5s,
            p_content_lengths, p_request_ids, p_quota_ids, p_quota_periods, p_quota_shared, p_quota_reserves,
            p_quota_limits, p_slot_ends, p_slot_holders, p_slot_amounts, p_one_by_one, p_charge_ends, p_charge_quotas,
            p_charge_slots, p_charge_amounts
        ) AS r;
        v_recorded := ARRAY(
            SELECT p_ids[i] FROM generate_series(1, cardinality(p_ids)) AS i
            WHERE ahead IS NULL AND (verdicts IS NULL OR verdicts[i] = 0)
        );
        IF cardinality(v_recorded) > 0 THEN
            UPDATE idempotency_keys k
            SET issuance_ids = k.issuance_ids || v_recorded, claimed_until = idempotency_claim_end()
            WHERE k.id = p_key_id;
        END IF;
    ELSIF v_fits = cardinality(p_ids) THEN
        verdicts := prove_issuances(
            p_position_seqs, p_position_tags, p_scopes, p_item_positions, p_scope_ends, p_scope_refs,
            p_ids, p_principals, p_credential_ids, p_deliveries, p_actions, p_methods, p_buckets, p_object_keys,
            p_expires_at, p_content_types, p_content_md5s, p_content_lengths, p_charge_ends, p_charge_amounts
        );
    ELSE
        on_record := v_recorded;
    END IF;
END
$$;

CREATE FUNCTION public.record_refusals(p_request_ids text[], p_refused_at timestamp with time zone[], p_methods text[], p_routes text[], p_statuses integer[], p_codes text[], p_reasons text[], p_subjects text[], p_principals text[], p_source_addresses text[], p_buckets text[], p_actions text[], p_key_prefixes text[], p_key_digests text[], p_grant_ids text[], p_minutes timestamp with time zone[], p_dropped bigint[]) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
    INSERT INTO refusals (
        request_id, refused_at, method, route, status, code, reason, subject, principal, source_address, bucket,
        action, key_prefix, key_sha256, grant_id
    )
    SELECT
        r.request_id, r.refused_at, r.method, r.route, r.status, r.code, r.reason, r.subject, r.principal,
        r.source_address::inet, r.bucket, r.action, r.key_prefix, decode(r.key_digest, 'hex'), r.grant_id::uuid
    FROM unnest(
        p_request_ids, p_refused_at, p_methods, p_routes, p_statuses, p_codes, p_reasons, p_subjects, p_principals,
        p_source_addresses, p_buckets, p_actions, p_key_prefixes, p_key_digests, p_grant_ids
    ) WITH ORDINALITY AS r (
        request_id, refused_at, method, route, status, code, reason, subject, principal, source_address, bucket,
        action, key_prefix, key_digest, grant_id, place
    )
    ORDER BY r.place;

    INSERT INTO refusal_gaps AS g (minute, dropped)
    SELECT date_trunc('minute', d.minute), sum(d.dropped)
    FROM unnest(p_minutes, p_dropped) AS d (minute, dropped)
    GROUP BY 1
    ORDER BY 1
    ON CONFLICT (minute) DO UPDATE SET dropped = g.dropped + excluded.dropped;
$$;

CREATE FUNCTION public.refuse_action_or_method(p_delivery text, p_method text) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF p_method = '*' THEN
        RAISE EXCEPTION 'delivery % binds no method', p_delivery
            USING ERRCODE = 'check_violation', CONSTRAINT = 'issuance_method_check', DATATYPE = 'issuance_method';
    END IF;
    RAISE EXCEPTION 'delivery % permits several actions', p_delivery
        USING ERRCODE = 'check_violation', CONSTRAINT = 'issuance_action_check', DATATYPE = 'issuance_action';
END
$$;

CREATE FUNCTION public.release_multipart_parts(p_issuance_ids uuid[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_upload_id uuid;
    v_numbers integer[];
    v_known bigint[];
    v_unknown boolean[];
BEGIN
    FOR v_upload_id IN
        SELECT u.id FROM multipart_uploads u
        WHERE u.id IN (SELECT p.upload_id FROM multipart_parts p WHERE p.issuance_id = ANY (p_issuance_ids))
        ORDER BY u.id
        FOR UPDATE
    LOOP
        WITH removed AS (
            DELETE FROM multipart_parts p
            WHERE p.upload_id = v_upload_id AND p.issuance_id = ANY (p_issuance_ids)
            RETURNING p.part_number, p.content_length
        )
        SELECT array_agg(p.number), array_agg(p.known), array_agg(p.is_unknown) INTO v_numbers, v_known, v_unknown
        FROM (
            SELECT r.part_number AS number, coalesce(max(r.content_length), 0) AS known,
                bool_or(r.content_length IS NULL) AS is_unknown
            FROM removed r
            GROUP BY r.part_number
        ) p;
        -- A statement of its own, which no longer sees the rows.
        UPDATE multipart_uploads u
        SET parts_length = u.parts_length - d.known,
            parts_of_unknown_length = u.parts_of_unknown_length - d.unknown
        FROM (
            SELECT coalesce(sum(greatest(p.known - rest.known, 0)), 0) AS known,
                count(*) FILTER (WHERE p.is_unknown AND NOT rest.is_unknown) AS unknown
            FROM unnest(v_numbers, v_known, v_unknown) AS p (number, known, is_unknown)
            CROSS JOIN LATERAL part_length(v_upload_id, p.number) rest
        ) d
        WHERE u.id = v_upload_id AND (d.known > 0 OR d.unknown > 0);
    END LOOP;
END
$$;

CREATE FUNCTION public.remote_upload_types(p_principal text, p_bucket text, p_object_key text, p_upload_id text) RETURNS text[]
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
DECLARE
    v_after timestamptz := clock_timestamp() - interval '7 days';
    v_upload remote_uploads;
BEGIN
    IF EXISTS (
        SELECT FROM multipart_uploads m
        WHERE m.bucket = p_bucket AND m.object_key = p_object_key AND m.store_upload_id = p_upload_id
    ) THEN
        RETURN NULL;
    END IF;
    -- Twice, since another call may bind the identifier between the two statements.
    <<binding>>
    FOR i IN 1..2 LOOP
        SELECT u.* INTO v_upload FROM remote_uploads u WHERE u.bucket = p_bucket AND u.upload_id = p_upload_id;
        EXIT binding WHEN FOUND;
        BEGIN
            UPDATE remote_uploads u
            SET upload_id = p_upload_id
            WHERE u.id = (
                SELECT o.id FROM remote_uploads o
                WHERE o.bucket = p_bucket AND o.object_key = p_object_key AND o.principal = p_principal
                    AND o.upload_id IS NULL AND o.started_at > v_after
                ORDER BY o.started_at DESC LIMIT 1
                FOR UPDATE SKIP LOCKED
            )
            RETURNING u.* INTO v_upload;
            EXIT binding;
        EXCEPTION WHEN unique_violation THEN
            NULL;
        END;
    END LOOP;
    IF v_upload.principal = p_principal AND v_upload.object_key = p_object_key AND v_upload.started_at > v_after THEN
        -- Each type is a look-up of its own, however many starts there are.
        RETURN array_prepend(v_upload.content_type, ARRAY(
            WITH RECURSIVE types (content_type) AS (
                (
                    SELECT o.content_type FROM remote_uploads o
                    WHERE o.bucket = p_bucket AND o.object_key = p_object_key AND o.principal = p_principal
                    ORDER BY o.content_type LIMIT 1
                )
                UNION ALL
                SELECT n.content_type
                FROM types t
                CROSS JOIN LATERAL (
                    SELECT o.content_type FROM remote_uploads o
                    WHERE o.bucket = p_bucket AND o.object_key = p_object_key AND o.principal = p_principal
                        AND o.content_type > t.content_type
                    ORDER BY o.content_type LIMIT 1
                ) n
            )
            SELECT t.content_type FROM types t WHERE t.content_type <> v_upload.content_type LIMIT 16
        ));
    END IF;
    RETURN NULL;
END
$$;

CREATE FUNCTION public.repair_quota_usage(p_quota_id uuid, p_holder text, p_period_start timestamp with time zone) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_quota quotas;
    v_end timestamptz;
    v_recent timestamptz := greatest(clock_timestamp() - interval '1 hour', p_period_start);
    v_charged bigint;
    v_used bigint;
BEGIN
    SELECT q.* INTO v_quota FROM quotas q WHERE q.id = p_quota_id;
    IF NOT FOUND THEN
        RETURN 0;
    END IF;
    -- Before the counter, since emptying a partition locks the two in this order.
    LOCK TABLE issuances IN ACCESS SHARE MODE;
    v_end := coalesce(quota_period_end(v_quota.period, p_period_start), 'infinity');
    v_charged := quota_charges(v_quota, p_holder, p_period_start, least(v_recent, v_end));
    INSERT INTO quota_usage (quota_id, holder, period_start, shared, used)
    VALUES (p_quota_id, p_holder, p_period_start, v_quota.sharing = 'shared', 0)
    ON CONFLICT DO NOTHING;
    PERFORM
    FROM quota_usage u
    WHERE u.quota_id = p_quota_id AND u.holder = p_holder AND u.period_start = p_period_start
    FOR UPDATE;
    v_charged := v_charged + quota_charges(v_quota, p_holder, v_recent, v_end);
    UPDATE quota_usage u
    SET used = greatest(v_charged + u.archived - u.released, 0)
    WHERE u.quota_id = p_quota_id AND u.holder = p_holder AND u.period_start = p_period_start
    RETURNING u.used INTO v_used;
    RETURN v_used;
END
$$;

CREATE FUNCTION public.reserve_multipart_parts(p_ids uuid[], p_counts integer[], p_issuance_ids uuid[], p_numbers integer[], p_lengths bigint[], p_waits boolean) RETURNS TABLE(place integer, verdict text, object_length bigint, max_length bigint)
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_request record;
    v_state text;
    v_known bigint;
    v_unknown integer;
    v_issuance_ids uuid[];
    v_numbers integer[];
    v_lengths bigint[];
BEGIN
    -- Until the transaction ends.
    PERFORM set_config('synchronous_commit', 'off', true);
    FOR v_request IN
        SELECT r.id, r.place, r.count, sum(r.count) OVER (ORDER BY r.place) AS last
        FROM unnest(p_ids, p_counts) WITH ORDINALITY AS r (id, count, place)
        ORDER BY r.id, r.place
    LOOP
        place := v_request.place;
        v_issuance_ids := p_issuance_ids[v_request.last - v_request.count + 1:v_request.last];
        v_numbers := p_numbers[v_request.last - v_request.count + 1:v_request.last];
        v_lengths := p_lengths[v_request.last - v_request.count + 1:v_request.last];
        object_length := NULL;
        v_state := NULL;
        SELECT u.state, u.content_length, u.parts_length, u.parts_of_unknown_length
        INTO v_state, max_length, v_known, v_unknown
        FROM multipart_uploads u
        WHERE u.id = v_request.id
        FOR UPDATE SKIP LOCKED;
        IF v_state IS NULL AND EXISTS (SELECT FROM multipart_uploads u WHERE u.id = v_request.id) THEN
            IF NOT p_waits THEN
                verdict := 'locked';
                max_length := NULL;
                RETURN NEXT;
                CONTINUE;
            END IF;
            SELECT u.state, u.content_length, u.parts_length, u.parts_of_unknown_length
            INTO v_state, max_length, v_known, v_unknown
            FROM multipart_uploads u
            WHERE u.id = v_request.id
            FOR UPDATE;
        END IF;
        IF v_state IS NULL OR NOT (v_state = 'open' OR v_state = 'completing' AND v_request.count = 0) THEN
            verdict := 'closed';
            RETURN NEXT;
            CONTINUE;
        END IF;
        IF v_request.count > 0 THEN
            SELECT v_known + sum(greatest(p.known - m.known, 0)),
                v_unknown + count(*) FILTER (WHERE p.is_unknown AND NOT m.is_unknown)
            INTO v_known, v_unknown
            FROM (
                SELECT t.number, coalesce(max(t.length), 0) AS known, bool_or(t.length IS NULL) AS is_unknown
                FROM unnest(v_numbers, v_lengths) AS t (number, length)
                GROUP BY t.number
            ) p
            CROSS JOIN LATERAL part_length(v_request.id, p.number) m;
        END IF;
        IF v_unknown = 0 THEN
            object_length := v_known;
        END IF;
        verdict := CASE
            WHEN max_length IS NULL OR object_length <= max_length THEN 'reserved'
            WHEN object_length IS NULL THEN 'length-required'
            ELSE 'too-large'
        END;
        IF verdict = 'reserved' AND v_request.count > 0 THEN
            WITH added AS (
                INSERT INTO multipart_parts (issuance_id, upload_id, part_number, content_length)
                SELECT t.issuance_id, v_request.id, t.number, t.length
                FROM unnest(v_issuance_ids, v_numbers, v_lengths) AS t (issuance_id, number, length)
                ON CONFLICT (issuance_id) DO NOTHING
            )
            UPDATE multipart_uploads u
            SET parts_length = v_known, parts_of_unknown_length = v_unknown
            WHERE u.id = v_request.id
                AND (u.parts_length <> v_known OR u.parts_of_unknown_length <> v_unknown);
        END IF;
        RETURN NEXT;
    END LOOP;
END
$$;

CREATE FUNCTION public.reset_quota(p_quota_id uuid, p_holder text, p_entry_id uuid, p_actor text, p_request_id text, p_key_id uuid, p_attempt uuid, p_credential text, p_proof jsonb, OUT is_claimed boolean, OUT holders bigint, OUT released bigint) RETURNS record
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM FROM idempotency_keys k WHERE k.id = p_key_id AND k.attempt = p_attempt FOR UPDATE;
    is_claimed := FOUND OR p_key_id IS NULL;
    IF NOT is_claimed THEN
        RETURN;
    END IF;
    SELECT r.holders, r.released INTO holders, released FROM reset_quota_usage(p_quota_id, p_holder, p_proof) AS r;
    IF holders IS NULL THEN
        RETURN;
    END IF;
    UPDATE idempotency_keys k
    SET changed_at = clock_timestamp(), claimed_until = idempotency_claim_end()
    WHERE k.id = p_key_id;
    INSERT INTO admin_audit (id, actor, request_id, credential, operation, kind, resource_id, before, after)
    VALUES (
        p_entry_id, p_actor, p_request_id, p_credential, 'reset', 'Quota', p_quota_id::text,
        jsonb_strip_nulls(jsonb_build_object('holder', p_holder, 'holders', holders, 'used', released)),
        jsonb_strip_nulls(jsonb_build_object('holder', p_holder, 'holders', holders, 'used', 0))
    );
END
$$;

CREATE FUNCTION public.reset_quota_usage(p_quota_id uuid, p_holder text, p_proof jsonb, OUT holders bigint, OUT released bigint) RETURNS record
    LANGUAGE plpgsql
    SET lock_timeout TO '2s'
    SET plan_cache_mode TO 'force_custom_plan'
    AS $$
DECLARE
    v_period text;
    v_start timestamptz;
    v_holders text[];
BEGIN
    SELECT q.period INTO v_period FROM quotas q WHERE q.id = p_quota_id;
    v_start := quota_period_start(v_period, clock_timestamp());
    -- One that somebody changed since the statement began is locked and stays for the next deletion.
    DELETE FROM reservations r
    WHERE r.ctid = ANY (ARRAY(
        SELECT h.ctid
        FROM reservations h
        WHERE h.quota_id = p_quota_id AND h.period_start = v_start AND (p_holder IS NULL OR h.holder = p_holder)
        ORDER BY h.issuance_id
        FOR UPDATE
    ));

    PERFORM prove_actor(p_proof);
    IF v_period IS NULL THEN
        RETURN;
    END IF;
    SELECT count(*), coalesce(sum(l.used), 0), array_agg(l.holder) INTO holders, released, v_holders
    FROM (
        SELECT u.holder, u.used
        FROM quota_usage u
        WHERE u.quota_id = p_quota_id AND u.period_start = v_start AND (p_holder IS NULL OR u.holder = p_holder)
        ORDER BY u.shared, u.quota_id, u.holder, u.period_start
        FOR UPDATE
    ) l;
    IF quota_period_start(v_period, clock_timestamp()) <> v_start THEN
        RAISE EXCEPTION 'the period of the quota has ended meanwhile' USING ERRCODE = 'serialization_failure';
    END IF;

    DELETE FROM reservations r
    WHERE r.quota_id = p_quota_id AND r.issuance_id = ANY (ARRAY(
        SELECT h.issuance_id
        FROM reservations h
        WHERE h.quota_id = p_quota_id AND h.period_start = v_start AND h.holder = ANY (v_holders)
        FOR UPDATE SKIP LOCKED
    ));
    IF EXISTS (
        SELECT FROM reservations r
        WHERE r.quota_id = p_quota_id AND r.period_start = v_start AND r.holder = ANY (v_holders)
    ) THEN
        RAISE EXCEPTION 'reservations of the quota are being settled' USING ERRCODE = 'serialization_failure';
    END IF;

    UPDATE quota_usage u
    SET used = 0, released = u.released + u.used
    WHERE u.quota_id = p_quota_id AND u.period_start = v_start AND u.holder = ANY (v_holders) AND u.used > 0;
END
$$;

CREATE FUNCTION public.settle_reservations(p_issuance_ids uuid[], p_quota_ids uuid[], p_proofs text[], p_is_final boolean[], p_delay_seconds double precision) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_quota_ids uuid[];
    v_holders text[];
    v_starts timestamptz[];
    v_amounts bigint[];
BEGIN
    WITH findings AS (
        SELECT f.issuance_id, f.quota_id, f.proof, f.is_final
        FROM unnest(p_issuance_ids, p_quota_ids, p_proofs, p_is_final) AS f (issuance_id, quota_id, proof, is_final)
    ),
    mine AS MATERIALIZED (
        SELECT r.issuance_id, r.quota_id, r.policy_seq, r.bucket, r.credential_id, f.proof, f.is_final
        FROM reservations r
        JOIN findings f ON f.issuance_id = r.issuance_id AND f.quota_id = r.quota_id
        FOR UPDATE OF r SKIP LOCKED
    ),
    -- What the log tells since the oldest of the decisions is read once. Each reservation is judged by what came after
    -- its own.
    decisions AS (
        SELECT m.policy_seq, m.bucket, m.credential_id FROM mine m WHERE m.is_final AND m.proof IS NOT NULL
    ),
    scopes AS (
        SELECT 'buckets' AS scope
        UNION
        SELECT 'bucket:' || d.bucket FROM decisions d
        UNION
        SELECT 'credential:' || d.credential_id FROM decisions d
    ),
    changes AS (
        SELECT s.scope, max(l.seq) AS last_seq
        FROM policy_log l
        CROSS JOIN LATERAL unnest(l.scopes) AS s (scope)
        WHERE l.seq > (SELECT min(d.policy_seq) FROM decisions d) AND s.scope IN (SELECT o.scope FROM scopes o)
        GROUP BY s.scope
    ),
    changed AS MATERIALIZED (
        SELECT array_agg(c.scope) AS scopes, array_agg(c.last_seq) AS last_seqs FROM changes c
    ),
    postponed AS (
        UPDATE reservations r
        SET check_at = greatest(
            clock_timestamp() + greatest(make_interval(secs => p_delay_seconds), (clock_timestamp() - r.dead_at) / 16),
            r.dead_at + make_interval(secs => r.amount / 65536.0)
        )
        FROM mine m
        WHERE NOT m.is_final AND r.issuance_id = m.issuance_id AND r.quota_id = m.quota_id
    ),
    ended AS (
        DELETE FROM reservations r
        USING mine m, changed c
        WHERE m.is_final AND r.issuance_id = m.issuance_id AND r.quota_id = m.quota_id
        RETURNING r.quota_id, r.holder, r.period_start,
            CASE
                WHEN m.proof IN ('absent', 'older', 'left-out')
                    AND can_give_back(r, m.proof, c.scopes, c.last_seqs) THEN r.amount
                ELSE 0
            END AS amount
    ),
    given_back AS (
        SELECT e.quota_id, e.holder, e.period_start, sum(e.amount)::bigint AS amount
        FROM ended e
        GROUP BY e.quota_id, e.holder, e.period_start
        HAVING sum(e.amount) > 0
    )
    SELECT array_agg(g.quota_id), array_agg(g.holder), array_agg(g.period_start), array_agg(g.amount)
    INTO v_quota_ids, v_holders, v_starts, v_amounts
    FROM given_back g;

    PERFORM
    FROM quota_usage u
    JOIN unnest(v_quota_ids, v_holders, v_starts) AS s (quota_id, holder, period_start)
        ON u.quota_id = s.quota_id AND u.holder = s.holder AND u.period_start = s.period_start
    ORDER BY u.shared, u.quota_id, u.holder, u.period_start
    FOR UPDATE OF u;

    UPDATE quota_usage u
    SET used = u.used - least(s.amount, u.used), released = u.released + least(s.amount, u.used)
    FROM unnest(v_quota_ids, v_holders, v_starts, v_amounts) AS s (quota_id, holder, period_start, amount)
    WHERE u.quota_id = s.quota_id AND u.holder = s.holder AND u.period_start = s.period_start;
END
$$;

CREATE FUNCTION public.stale_verdicts(p_position_seqs bigint[], p_position_tags uuid[], p_scopes text[], p_item_positions integer[], p_scope_ends integer[], p_scope_refs integer[]) RETURNS integer[]
    LANGUAGE plpgsql
    AS $$
BEGIN
    RETURN (
        WITH changes AS MATERIALIZED (
            SELECT l.seq, l.scopes
            FROM policy_log l
            WHERE l.seq > (SELECT min(p.seq) FROM unnest(p_position_seqs) AS p (seq))
                AND l.scopes && (p_scopes || 'all'::text)
        )
        SELECT array_agg(
            CASE WHEN EXISTS (
                SELECT FROM policy_log l
                WHERE l.seq = p_position_seqs[i.position] AND l.tag = p_position_tags[i.position]
            ) AND NOT EXISTS (
                SELECT FROM changes c
                WHERE c.seq > p_position_seqs[i.position] AND c.scopes && (i.scopes || 'all'::text)
            ) THEN 0 ELSE -1 END
            ORDER BY i.item
        )
        FROM (
            SELECT t.item, t.position, ARRAY(
                SELECT p_scopes[p_scope_refs[n]]
                FROM generate_series(coalesce(p_scope_ends[t.item - 1], 0) + 1, t.scope_end) AS n
            ) AS scopes
            FROM unnest(p_item_positions, p_scope_ends) WITH ORDINALITY AS t (position, scope_end, item)
        ) i
    );
END
$$;

CREATE FUNCTION public.sum_callers() RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    SET "TimeZone" TO 'UTC'
    SET plan_cache_mode TO 'force_custom_plan'
    SET work_mem TO '32MB'
    SET enable_seqscan TO 'off'
    SET enable_indexscan TO 'off'
    SET enable_sort TO 'off'
    AS $$
DECLARE
    v_from timestamptz;
    v_to timestamptz;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'summing up needs read committed' USING ERRCODE = 'invalid_transaction_state';
    END IF;
    IF NOT pg_try_advisory_xact_lock(advisory_lock('sums')) THEN
        RETURN false;
    END IF;
    SELECT h.starts_at
    INTO v_from
    FROM summed_days d
    CROSS JOIN LATERAL generate_series(
        d.starts_at, d.summed_to - interval '1 hour', interval '1 hour'
    ) AS h (starts_at)
    -- Of a day that is summed up, all hours are: only those of other days are looked at.
    WHERE d.starts_at NOT IN (SELECT s.starts_at FROM summed_caller_days s)
        AND NOT EXISTS (SELECT FROM summed_hours s WHERE s.starts_at = h.starts_at)
    ORDER BY h.starts_at DESC
    LIMIT 1;
    IF v_from IS NULL THEN
        SELECT d.starts_at
        INTO v_from
        FROM summed_days d
        WHERE d.summed_to = d.starts_at + interval '24 hours'
            AND d.starts_at NOT IN (SELECT s.starts_at FROM summed_caller_days s)
        ORDER BY d.starts_at DESC
        LIMIT 1;
        IF v_from IS NULL THEN
            RETURN false;
        END IF;
        INSERT INTO caller_days (
            day, principal, matched_principal, grant_id, bucket, action, delivery, credential_id, byte_quotas, urls,
            bytes_bound, bytes_reserved
        )
        SELECT v_from, s.principal, s.matched_principal, s.grant_id, s.bucket, s.action, s.delivery, s.credential_id,
            s.byte_quotas, sum(s.urls), sum(s.bytes_bound), sum(s.bytes_reserved)
        FROM caller_sums s
        WHERE s.hour >= v_from AND s.hour < v_from + interval '24 hours'
        GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9;
        INSERT INTO summed_caller_days (starts_at) VALUES (v_from);
        RETURN true;
    END IF;
    v_to := v_from + interval '1 hour';

    WITH sums AS (
        INSERT INTO caller_sums (
            hour, principal, matched_principal, grant_id, bucket, action, delivery, credential_id, byte_quotas, urls,
            bytes_bound, bytes_reserved, first_key, last_key, last_issued_at, last_expires_at
        )
        SELECT v_from, c.principal, c.matched_principal, c.grant_id, c.bucket, c.action, c.delivery, c.credential_id,
            q.ids, sum(c.urls), sum(c.bound), sum(c.urls * q.amount), min(c.first_key), max(c.last_key),
            max(c.last_issued_at), max(c.last_expires_at)
        FROM (
            SELECT i.principal, i.matched_principal, i.grant_id, i.bucket, i.action, i.delivery, i.credential_id,
                count(*) AS urls, sum(i.content_length) AS bound, min(i.object_key) AS first_key,
                max(i.object_key) AS last_key, max(i.issued_at) AS last_issued_at, max(i.expires_at) AS last_expires_at,
                CASE WHEN i.action <> 'GetObject' THEN i.quota_ids END AS quota_ids,
                CASE WHEN i.action <> 'GetObject' THEN i.quota_amounts END AS quota_amounts
            FROM issuances i
            WHERE i.issued_at >= v_from AND i.issued_at < v_to
            GROUP BY 1, 2, 3, 4, 5, 6, 7, 14, 15
        ) c
        CROSS JOIN LATERAL (
            SELECT coalesce(array_agg(q.id ORDER BY q.id), '{}') AS ids, max(a.amount) AS amount
            FROM unnest(c.quota_ids, c.quota_amounts) AS a (quota_id, amount)
            JOIN quotas q ON q.id = a.quota_id AND q.metric = 'bytes'
        ) q
        GROUP BY c.principal, c.matched_principal, c.grant_id, c.bucket, c.action, c.delivery, c.credential_id, q.ids
        RETURNING grant_id, bucket, last_issued_at
    )
    INSERT INTO grant_uses AS u (grant_id, bucket, last_issued_at)
    SELECT s.grant_id, s.bucket, max(s.last_issued_at) FROM sums s GROUP BY 1, 2
    ON CONFLICT ON CONSTRAINT grant_uses_pkey DO UPDATE SET last_issued_at = excluded.last_issued_at
    WHERE u.last_issued_at < excluded.last_issued_at;
    INSERT INTO summed_hours (starts_at) VALUES (v_from);
    RETURN true;
END
$$;

CREATE FUNCTION public.sum_issuances(p_least_pages integer) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    SET "TimeZone" TO 'UTC'
    SET lock_timeout TO '100ms'
    SET plan_cache_mode TO 'force_custom_plan'
    SET work_mem TO '32MB'
    SET enable_seqscan TO 'off'
    SET enable_indexscan TO 'off'
    SET enable_sort TO 'off'
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

CREATE FUNCTION public.sum_landings(p_most integer, p_patience interval) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    SET "TimeZone" TO 'UTC'
    SET plan_cache_mode TO 'force_custom_plan'
    SET work_mem TO '32MB'
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
    v_now timestamptz;
    v_ids uuid[];
    v_buckets text[];
    v_keys text[];
    v_times timestamptz[];
    v_first timestamptz;
    v_last timestamptz;
    v_is_due boolean;
    v_taken bigint;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'summing up needs read committed' USING ERRCODE = 'invalid_transaction_state';
    END IF;
    IF NOT pg_try_advisory_xact_lock(advisory_lock('sums')) THEN
        RETURN false;
    END IF;
    v_now := clock_timestamp();
    -- What was noted while the clock was ahead is due: it would hold up what was noted after it. What was noted since
    -- v_now, or just before a failover to a clock that is slightly behind, waits.
    v_is_due := (
        SELECT c.noted_at <= v_now - 2 * p_patience OR c.noted_at > v_now + p_patience
        FROM landing_changes c WHERE c.issuance_id IS NULL ORDER BY c.ordinal LIMIT 1
    );

    WITH due AS (
        (SELECT c.ordinal FROM landing_changes c WHERE c.issuance_id IS NOT NULL ORDER BY c.ordinal LIMIT p_most)
        UNION ALL
        (
            SELECT c.ordinal FROM landing_changes c
            WHERE v_is_due AND c.issuance_id IS NULL
                AND (c.noted_at <= v_now - p_patience OR c.noted_at > v_now + p_patience)
            ORDER BY c.ordinal LIMIT p_most
        )
    ),
    taken AS (
        DELETE FROM landing_changes c
        WHERE c.ordinal = ANY (ARRAY(SELECT d.ordinal FROM due d))
        RETURNING c.issuance_id, c.bucket, c.object_key, c.made_at
    )
    SELECT coalesce(array_agg(t.issuance_id) FILTER (WHERE t.issuance_id IS NOT NULL), '{}'),
        array_agg(t.bucket) FILTER (WHERE t.issuance_id IS NULL),
        array_agg(t.object_key) FILTER (WHERE t.issuance_id IS NULL),
        array_agg(t.made_at) FILTER (WHERE t.issuance_id IS NULL), min(t.made_at), max(t.made_at), count(*)
    INTO v_ids, v_buckets, v_keys, v_times, v_first, v_last, v_taken
    FROM taken t;
    IF v_taken = 0 THEN
        RETURN false;
    END IF;

    -- No link lives longer than a week, and the store's clock differs by half a minute at most. The view decides which
    -- are meant, and knows when each event came.
    IF v_times IS NOT NULL THEN
        v_ids := v_ids || ARRAY(
            SELECT i.id
            FROM issuances i
            JOIN unnest(v_buckets, v_keys, v_times) AS e (bucket, object_key, made_at)
                ON e.bucket = i.bucket AND e.object_key = i.object_key
                AND e.made_at > i.issued_at - interval '30 seconds'
            WHERE i.issued_at > v_first - interval '8 days' AND i.issued_at < v_last + interval '30 seconds'
                AND i.expires_at > v_first - interval '20 minutes' AND i.action = 'PutObject'
            UNION ALL
            SELECT m.id
            FROM multipart_uploads m
            JOIN unnest(v_buckets, v_keys) AS e (bucket, object_key)
                ON e.bucket = m.bucket AND e.object_key = m.object_key
        );
    END IF;

    -- Identifiers hold the instant of signing, and a request may be repeated for a day: without it, every day of the
    -- ledger would be read.
    WITH found AS MATERIALIZED (
        SELECT u.id, u.issued_at, u.principal, u.matched_principal, u.grant_id, u.bucket, u.action, u.delivery,
            u.credential_id, u.landed_bytes AS size, coalesce(u.landed_bytes, 0) AS bytes,
            coalesce(l.bytes, 0) AS counted, u.state = 'landed' AND u.finding = 'absent' AS was_absent
        FROM (SELECT DISTINCT unnest(v_ids) AS id) c
        CROSS JOIN LATERAL (
            SELECT u.id, u.issued_at, u.principal, u.matched_principal, u.grant_id, u.bucket, u.action::text,
                u.delivery::text, u.credential_id, u.landed_bytes, u.state, u.finding
            FROM uploads u
            WHERE u.id = c.id AND u.issued_at > uuid_instant(c.id) - interval '2 days'
                AND u.issued_at < uuid_instant(c.id) + interval '2 days' AND u.is_upload
            OFFSET 0
        ) u
        LEFT JOIN landed_uploads l ON l.issuance_id = u.id
        WHERE u.landed_bytes IS DISTINCT FROM l.bytes
            OR u.state = 'landed' AND (l.issuance_id IS NULL OR u.finding = 'absent')
    ),
    forgotten AS (
        DELETE FROM landings l
        -- By ascending identifiers, as note_settled_uploads locks them.
        WHERE l.finding = 'absent' AND l.issuance_id = ANY (ARRAY(
            SELECT o.issuance_id FROM landings o JOIN found f ON f.id = o.issuance_id
            WHERE f.was_absent AND o.finding = 'absent'
            ORDER BY o.issuance_id
            FOR UPDATE OF o
        ))
    ),
    counted AS (
        INSERT INTO landed_uploads (issuance_id, bytes)
        SELECT f.id, f.size FROM found f
        ON CONFLICT ON CONSTRAINT landed_uploads_pkey DO UPDATE SET bytes = excluded.bytes
    ),
    by_caller AS (
        INSERT INTO caller_landings AS s (
            hour, principal, matched_principal, grant_id, bucket, action, delivery, credential_id, bytes
        )
        SELECT date_trunc('hour', f.issued_at), f.principal, f.matched_principal, f.grant_id, f.bucket, f.action,
            f.delivery, f.credential_id, sum(f.bytes - f.counted)
        FROM found f
        GROUP BY 1, 2, 3, 4, 5, 6, 7, 8
        ON CONFLICT ON CONSTRAINT caller_landings_pkey DO UPDATE SET bytes = s.bytes + excluded.bytes
    ),
    by_day AS (
        INSERT INTO caller_landing_days AS s (
            day, principal, matched_principal, grant_id, bucket, action, delivery, credential_id, bytes
        )
        SELECT date_trunc('day', f.issued_at, 'UTC'), f.principal, f.matched_principal, f.grant_id, f.bucket, f.action,
            f.delivery, f.credential_id, sum(f.bytes - f.counted)
        FROM found f
        GROUP BY 1, 2, 3, 4, 5, 6, 7, 8
        ON CONFLICT ON CONSTRAINT caller_landing_days_pkey DO UPDATE SET bytes = s.bytes + excluded.bytes
    )
    INSERT INTO landing_sums AS s (minute, bucket, action, delivery, credential_id, bytes)
    SELECT date_bin('1 minute', f.issued_at, timestamptz 'epoch'), f.bucket, f.action, f.delivery, f.credential_id,
        sum(f.bytes - f.counted)
    FROM found f
    GROUP BY 1, 2, 3, 4, 5
    ON CONFLICT ON CONSTRAINT landing_sums_pkey DO UPDATE SET bytes = s.bytes + excluded.bytes;
    RETURN v_taken >= p_most;
END
$$;

CREATE FUNCTION public.template_place(p_template text, p_place text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE
    AS $_$
DECLARE
    v_template text[] := string_to_array(p_template, '/');
    v_place text[] := string_to_array(p_place, '/');
    v_is_wide boolean := p_template LIKE '%/';
    v_is_prefix boolean := p_place = '' OR p_place LIKE '%/';
    v_template_count integer := cardinality(v_template) - v_is_wide::integer;
    v_place_count integer := CASE WHEN p_place = '' THEN 0 ELSE cardinality(v_place) - v_is_prefix::integer END;
BEGIN
    FOR i IN 1 .. least(v_template_count, v_place_count) LOOP
        IF v_template[i] LIKE '${%}' THEN
            IF v_place[i] ~ '[/\\*?$%[:cntrl:]]' THEN
                RETURN NULL;
            END IF;
        ELSIF v_template[i] <> v_place[i] THEN
            RETURN NULL;
        END IF;
    END LOOP;
    IF v_template_count > v_place_count THEN
        RETURN CASE WHEN v_is_prefix THEN 'below' END;
    END IF;
    IF v_is_wide THEN
        RETURN CASE WHEN v_template_count < v_place_count OR v_is_prefix THEN 'covers' END;
    END IF;
    RETURN CASE WHEN v_template_count = v_place_count AND NOT v_is_prefix THEN 'covers' END;
END
$_$;

CREATE FUNCTION public.templates_at(p_bucket text, p_place text) RETURNS SETOF text
    LANGUAGE sql STABLE
    AS $_$
    WITH RECURSIVE templates (beginning, text, number) AS (
        SELECT b.text, (
            SELECT min(g.prefix) FROM grants g
            WHERE g.bucket = p_bucket AND g.removed_at IS NULL
                AND g.prefix >= b.text || '${' AND g.prefix < b.text || '$|'
        ), 1
        FROM beginnings(p_place) AS b (text)
        UNION ALL
        SELECT t.beginning, (
            SELECT min(g.prefix) FROM grants g
            WHERE g.bucket = p_bucket AND g.removed_at IS NULL
                AND g.prefix > t.text AND g.prefix < t.beginning || '$|'
        ), t.number + 1
        FROM templates t WHERE t.text IS NOT NULL AND t.number < 1000
    )
    SELECT t.text FROM templates t WHERE t.text IS NOT NULL
$_$;

CREATE FUNCTION public.uuid_instant(p_id uuid) RETURNS timestamp with time zone
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN to_timestamp((((((('x'::text || "left"(replace((p_id)::text, '-'::text, ''::text), 12)))::bit(48))::bigint)::numeric / 1000.0))::double precision);

CREATE FUNCTION public.uuid_v7() RETURNS uuid
    LANGUAGE sql
    AS $$
    SELECT encode(
        -- Random bits, the time over the first 48; two more bits turn version 4 into 7.
        set_bit(set_bit(
            overlay(
                uuid_send(gen_random_uuid())
                PLACING substring(int8send((extract(epoch FROM clock_timestamp()) * 1000)::bigint) FROM 3) FROM 1 FOR 6
            ), 52, 1), 53, 1),
        'hex'
    )::uuid
$$;

CREATE FUNCTION public.write_policy_log() RETURNS trigger
    LANGUAGE plpgsql
    SET lock_timeout TO '2s'
    AS $$
DECLARE
    v_line jsonb := nullif(current_setting('sluice.lines', true), '')::jsonb -> NEW.id::text;
    v_attempts integer := (v_line -> 'attempts')::integer;
    v_offboarded text := nullif(current_setting('sluice.offboarded', true), '');
    v_seq bigint;
BEGIN
    IF v_line IS NULL THEN
        RAISE EXCEPTION 'change % ends without append_policy_log', NEW.id
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    -- A statement of its own, so that the next one sees what was committed while this one waited.
    LOOP
        BEGIN
            PERFORM pg_advisory_xact_lock(advisory_lock('policy'));
            EXIT;
        EXCEPTION WHEN lock_not_available THEN
            v_attempts := v_attempts - 1;
            IF v_attempts <= 0 THEN
                RAISE;
            END IF;
        END;
    END LOOP;
    PERFORM prove_actor(nullif(current_setting('sluice.proof', true), '')::jsonb);
    IF v_offboarded IS NOT NULL THEN
        -- Uploads give nothing by themselves, and the user can start them at any time.
        IF EXISTS (SELECT FROM offboarding_rows(v_offboarded) r WHERE r.kind <> 'Upload') THEN
            RAISE EXCEPTION 'somebody else added to what % has', v_offboarded USING ERRCODE = 'serialization_failure';
        END IF;
    END IF;
    INSERT INTO policy_log (seq, tag, scopes, actor, request_id)
    SELECT max(l.seq) + 1, NEW.id, ARRAY(SELECT jsonb_array_elements_text(v_line -> 'scopes')), v_line ->> 'actor',
        v_line ->> 'request'
    FROM policy_log l
    RETURNING seq INTO STRICT v_seq;
    PERFORM pg_notify('sluice_policy', v_seq::text);
    RETURN NULL;
END
$$;

CREATE TABLE public.admin_audit (
    id uuid NOT NULL,
    at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    actor text NOT NULL,
    request_id text NOT NULL,
    operation text NOT NULL,
    kind text NOT NULL,
    resource_id text NOT NULL COLLATE pg_catalog."C",
    before jsonb,
    after jsonb,
    credential text,
    CONSTRAINT admin_audit_operation_check CHECK ((operation = ANY (ARRAY['create'::text, 'update'::text, 'delete'::text, 'reset'::text, 'import'::text, 'validate'::text, 'rotate'::text])))
);

CREATE TABLE public.api_keys (
    id uuid NOT NULL,
    prefix text NOT NULL COLLATE pg_catalog."C",
    hash bytea NOT NULL,
    name text NOT NULL,
    principal text NOT NULL COLLATE pg_catalog."C",
    groups text[] NOT NULL,
    roles text[] NOT NULL,
    expires_at timestamp with time zone,
    previous_prefix text COLLATE pg_catalog."C",
    previous_hash bytea,
    previous_expires_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    revision uuid DEFAULT gen_random_uuid() NOT NULL,
    admin_scopes jsonb,
    CONSTRAINT api_keys_admin_scopes_check CHECK (
CASE
    WHEN (jsonb_typeof(admin_scopes) = 'array'::text) THEN (jsonb_array_length(admin_scopes) > 0)
    ELSE (admin_scopes IS NULL)
END),
    CONSTRAINT api_keys_hash_check CHECK ((octet_length(hash) = 32)),
    CONSTRAINT api_keys_previous_check CHECK (((num_nulls(previous_prefix, previous_hash, previous_expires_at) = ANY (ARRAY[0, 3])) AND (octet_length(previous_hash) = 32))),
    CONSTRAINT api_keys_roles_check CHECK ((roles <@ '{admin,auditor}'::text[]))
);

CREATE TABLE public.buckets (
    name text NOT NULL COLLATE pg_catalog."C",
    provider text NOT NULL,
    endpoint text NOT NULL,
    region text NOT NULL,
    addressing text NOT NULL,
    scheme text NOT NULL,
    credential_id uuid NOT NULL,
    credential_kind text GENERATED ALWAYS AS (
CASE
    WHEN (scheme = ANY (ARRAY['gcs-v4-rsa'::text, 'gcs-v2-rsa'::text])) THEN 'service-account'::text
    ELSE 'access-key'::text
END) STORED NOT NULL,
    default_ttl integer NOT NULL,
    max_ttl integer NOT NULL,
    max_session_ttl integer DEFAULT 43200 NOT NULL,
    allows_unenforced_size boolean NOT NULL,
    allows_redirects boolean DEFAULT false NOT NULL,
    allowed_origins text[] DEFAULT '{}'::text[] NOT NULL,
    honours_unsigned_headers boolean DEFAULT false NOT NULL,
    external_deletions boolean DEFAULT false NOT NULL,
    permits_symlinks boolean DEFAULT false NOT NULL,
    callback text,
    callback_var text,
    encryption jsonb,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    revision uuid DEFAULT gen_random_uuid() NOT NULL,
    public_endpoints jsonb DEFAULT '{}'::jsonb NOT NULL,
    cdn_credential_id uuid,
    stable_link_window integer DEFAULT 0 NOT NULL,
    protocols text[] DEFAULT '{}'::text[] NOT NULL,
    CONSTRAINT buckets_addressing_check CHECK ((addressing = ANY (ARRAY['virtual'::text, 'path'::text, 'cname'::text]))),
    CONSTRAINT buckets_callback_check CHECK ((((provider = 'oss'::text) OR (callback IS NULL)) AND ((callback IS NOT NULL) OR (callback_var IS NULL)))),
    CONSTRAINT buckets_cdn_credential_fit_check CHECK ((NOT ((cdn_credential_id)::text IS DISTINCT FROM (public_endpoints #>> '{cdn,signing,credentialID}'::text[])))),
    CONSTRAINT buckets_encryption_check CHECK (((provider <> 'gcs'::text) OR (encryption IS NULL))),
    CONSTRAINT buckets_provider_check CHECK ((provider = ANY (ARRAY['aws'::text, 's3'::text, 'oss'::text, 'gcs'::text]))),
    CONSTRAINT buckets_public_endpoints_check CHECK ((jsonb_typeof(public_endpoints) = 'object'::text)),
    CONSTRAINT buckets_scheme_check CHECK ((scheme = ANY (ARRAY['aws-v4'::text, 'aws-v2'::text, 'oss-v4'::text, 'oss-v1'::text, 'gcs-v4-rsa'::text, 'gcs-v4-hmac'::text, 'gcs-v2-rsa'::text]))),
    CONSTRAINT buckets_session_ttl_check CHECK (((max_session_ttl = 0) OR ((max_session_ttl >= 900) AND (max_session_ttl <= 43200)))),
    CONSTRAINT buckets_stable_link_window_check CHECK (((stable_link_window >= 0) AND (stable_link_window <= 86400))),
    CONSTRAINT buckets_ttl_check CHECK ((((default_ttl >= 1) AND (default_ttl <= max_ttl)) AND (max_ttl <= 604800)))
);

CREATE TABLE public.caller_days (
    day timestamp with time zone NOT NULL,
    principal text NOT NULL COLLATE pg_catalog."C",
    matched_principal text NOT NULL COLLATE pg_catalog."C",
    grant_id uuid NOT NULL,
    bucket text NOT NULL COLLATE pg_catalog."C",
    action text NOT NULL,
    delivery text NOT NULL,
    credential_id uuid NOT NULL,
    byte_quotas uuid[] NOT NULL,
    urls bigint NOT NULL,
    bytes_bound numeric,
    bytes_reserved numeric
);

CREATE TABLE public.caller_landing_days (
    day timestamp with time zone NOT NULL,
    principal text NOT NULL COLLATE pg_catalog."C",
    matched_principal text NOT NULL COLLATE pg_catalog."C",
    grant_id uuid NOT NULL,
    bucket text NOT NULL COLLATE pg_catalog."C",
    action text NOT NULL,
    delivery text NOT NULL,
    credential_id uuid NOT NULL,
    bytes numeric NOT NULL
)
WITH (fillfactor='70');

CREATE TABLE public.caller_landings (
    hour timestamp with time zone NOT NULL,
    principal text NOT NULL COLLATE pg_catalog."C",
    matched_principal text NOT NULL COLLATE pg_catalog."C",
    grant_id uuid NOT NULL,
    bucket text NOT NULL COLLATE pg_catalog."C",
    action text NOT NULL,
    delivery text NOT NULL,
    credential_id uuid NOT NULL,
    bytes numeric NOT NULL
)
WITH (fillfactor='70');

CREATE TABLE public.caller_sums (
    hour timestamp with time zone NOT NULL,
    principal text NOT NULL COLLATE pg_catalog."C",
    matched_principal text NOT NULL COLLATE pg_catalog."C",
    grant_id uuid NOT NULL,
    bucket text NOT NULL COLLATE pg_catalog."C",
    action text NOT NULL,
    delivery text NOT NULL,
    credential_id uuid NOT NULL,
    byte_quotas uuid[] NOT NULL,
    urls bigint NOT NULL,
    bytes_bound numeric,
    bytes_reserved numeric,
    first_key text NOT NULL COLLATE pg_catalog."C",
    last_key text NOT NULL COLLATE pg_catalog."C",
    last_issued_at timestamp with time zone NOT NULL,
    last_expires_at timestamp with time zone NOT NULL
);

CREATE TABLE public.deletions (
    principal text NOT NULL COLLATE pg_catalog."C",
    issuance_id uuid NOT NULL,
    bucket text NOT NULL COLLATE pg_catalog."C",
    object_key text NOT NULL COLLATE pg_catalog."C",
    dead_at timestamp with time zone NOT NULL
);

CREATE TABLE public.denials (
    principal text NOT NULL COLLATE pg_catalog."C",
    bucket text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    code text NOT NULL,
    minute timestamp with time zone NOT NULL,
    count bigint NOT NULL,
    CONSTRAINT denials_count_check CHECK ((count > 0))
);

CREATE TABLE public.event_secrets (
    bucket text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    hash bytea NOT NULL,
    previous_name text COLLATE pg_catalog."C",
    previous_hash bytea,
    previous_until timestamp with time zone,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT event_secrets_hash_check CHECK (((octet_length(hash) = 32) AND (octet_length(previous_hash) = 32))),
    CONSTRAINT event_secrets_previous_check CHECK ((num_nulls(previous_name, previous_hash, previous_until) = ANY (ARRAY[0, 3])))
);

CREATE TABLE public.gateways (
    id uuid NOT NULL,
    version text NOT NULL,
    started_at timestamp with time zone NOT NULL,
    last_seen_at timestamp with time zone NOT NULL,
    policy_seq bigint,
    policy_tag uuid,
    clock_difference double precision NOT NULL,
    key_ids text[] NOT NULL,
    schema_version integer DEFAULT 0 NOT NULL,
    function_set bytea DEFAULT '\x'::bytea NOT NULL,
    CONSTRAINT gateways_policy_check CHECK (((policy_seq IS NULL) = (policy_tag IS NULL)))
);

CREATE TABLE public.past_changes (
    tag uuid NOT NULL,
    seq bigint NOT NULL,
    at timestamp with time zone NOT NULL
);

CREATE TABLE public.policy_log (
    seq bigint NOT NULL,
    tag uuid DEFAULT gen_random_uuid() NOT NULL,
    at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    scopes text[] NOT NULL COLLATE pg_catalog."C",
    actor text NOT NULL,
    request_id text NOT NULL,
    CONSTRAINT policy_log_scopes_check CHECK (((cardinality(scopes) >= 1) AND (cardinality(scopes) <= 1000))),
    CONSTRAINT policy_log_seq_check CHECK ((seq > 0))
);

CREATE VIEW public.policy_moments AS
 SELECT l.seq,
    l.tag,
    l.at
   FROM public.policy_log l
UNION ALL
 SELECT c.seq,
    c.tag,
    c.at
   FROM public.past_changes c;

CREATE VIEW public.grant_history AS
 SELECT g.id,
    g.principal,
    g.bucket,
    g.prefix,
    g.is_template,
    g.actions,
    g.effect,
    g.conditions,
    g.not_before,
    g.not_after,
    g.note,
    g.created_by,
    g.created_at,
    g.created_change,
    c.seq AS created_seq,
    g.removed_change,
    r.seq AS removed_seq,
    g.removed_at,
    g.removed_by
   FROM ((public.grants g
     JOIN public.policy_moments c ON ((c.tag = g.created_change)))
     LEFT JOIN public.policy_moments r ON ((r.tag = g.removed_change)));

CREATE TABLE public.grant_uses (
    grant_id uuid NOT NULL,
    bucket text NOT NULL COLLATE pg_catalog."C",
    last_issued_at timestamp with time zone NOT NULL
)
WITH (fillfactor='70');

CREATE TABLE public.group_member_history (
    member_principal text NOT NULL COLLATE pg_catalog."C",
    group_principal text NOT NULL COLLATE pg_catalog."C",
    created_change uuid NOT NULL,
    removed_change uuid
);

CREATE TABLE public.group_members (
    group_principal text NOT NULL COLLATE pg_catalog."C",
    member_principal text NOT NULL COLLATE pg_catalog."C",
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    revision uuid DEFAULT gen_random_uuid() NOT NULL,
    CONSTRAINT group_members_kinds_check CHECK (((group_principal ~~ 'group:%'::text) AND (member_principal ~~ 'user:%'::text)))
);

CREATE TABLE public.idempotency_keys (
    id uuid NOT NULL,
    caller text NOT NULL COLLATE pg_catalog."C",
    route text NOT NULL COLLATE pg_catalog."C",
    key_digest bytea NOT NULL,
    body_digest bytea NOT NULL,
    attempt uuid NOT NULL,
    claimed_until timestamp with time zone NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    changed_at timestamp with time zone,
    issuance_ids uuid[] DEFAULT '{}'::uuid[] NOT NULL,
    answered_at timestamp with time zone,
    sealed bytea,
    key_id text,
    CONSTRAINT idempotency_keys_digests_check CHECK (((octet_length(key_digest) = 32) AND (octet_length(body_digest) = 32))),
    CONSTRAINT idempotency_keys_sealed_check CHECK ((num_nulls(sealed, key_id) = ANY (ARRAY[0, 2])))
);

CREATE TABLE public.issuance_sums (
    minute timestamp with time zone NOT NULL,
    bucket text NOT NULL COLLATE pg_catalog."C",
    action text NOT NULL,
    delivery text NOT NULL,
    credential_id uuid NOT NULL,
    byte_quotas uuid[] NOT NULL,
    urls bigint NOT NULL,
    bytes_bound numeric,
    bytes_reserved numeric
);

CREATE TABLE public.issuances (
    id uuid NOT NULL,
    issued_at timestamp with time zone NOT NULL,
    policy_seq bigint NOT NULL,
    principal text NOT NULL COLLATE pg_catalog."C",
    matched_principal text NOT NULL COLLATE pg_catalog."C",
    grant_id uuid NOT NULL,
    credential_id uuid NOT NULL,
    delivery public.issuance_delivery NOT NULL,
    action public.issuance_action NOT NULL,
    method public.issuance_method NOT NULL,
    bucket text NOT NULL COLLATE pg_catalog."C",
    object_key text NOT NULL COLLATE pg_catalog."C",
    expires_at timestamp with time zone NOT NULL,
    content_type text,
    content_md5 public.md5_digest,
    content_length public.amount,
    request_id text NOT NULL,
    quota_ids uuid[],
    quota_amounts bigint[]
)
PARTITION BY RANGE (issued_at);

CREATE TABLE public.issuers (
    id uuid NOT NULL,
    issuer text NOT NULL COLLATE pg_catalog."C",
    audiences text[] NOT NULL,
    algorithms text[] NOT NULL,
    keys_url text,
    keys_inline text,
    keys_sealed bytea,
    key_id text,
    principal_prefix text NOT NULL COLLATE pg_catalog."C",
    group_prefix text NOT NULL COLLATE pg_catalog."C",
    subject_claim text NOT NULL,
    groups_claim text,
    usable_claims text[] NOT NULL,
    roles_claim text,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    revision uuid DEFAULT gen_random_uuid() NOT NULL,
    console jsonb,
    roles jsonb NOT NULL,
    CONSTRAINT issuers_console_check CHECK (((console IS NULL) OR (((jsonb_typeof(console) = 'object'::text) AND (jsonb_typeof((console -> 'clientID'::text)) = 'string'::text) AND (jsonb_typeof((console -> 'scopes'::text)) = 'array'::text) AND ((console ->> 'send'::text) = ANY (ARRAY['access_token'::text, 'id_token'::text]))) IS TRUE))),
    CONSTRAINT issuers_keys_check CHECK (((num_nonnulls(keys_url, keys_inline, keys_sealed) = 1) AND ((keys_sealed IS NULL) = (key_id IS NULL)))),
    CONSTRAINT issuers_lists_check CHECK (((cardinality(audiences) > 0) AND (cardinality(algorithms) > 0))),
    CONSTRAINT issuers_roles_check CHECK ((jsonb_typeof(roles) = 'array'::text))
);

CREATE TABLE public.landed_uploads (
    issuance_id uuid NOT NULL,
    bytes bigint
);

CREATE TABLE public.landing_changes (
    ordinal bigint NOT NULL,
    issuance_id uuid,
    bucket text COLLATE pg_catalog."C",
    object_key text COLLATE pg_catalog."C",
    made_at timestamp with time zone,
    noted_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT landing_changes_check CHECK ((num_nulls(bucket, object_key, made_at) =
CASE
    WHEN (issuance_id IS NULL) THEN 0
    ELSE 3
END))
);

ALTER TABLE public.landing_changes ALTER COLUMN ordinal ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.landing_changes_ordinal_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.landing_sums (
    minute timestamp with time zone NOT NULL,
    bucket text NOT NULL COLLATE pg_catalog."C",
    action text NOT NULL,
    delivery text NOT NULL,
    credential_id uuid NOT NULL,
    bytes numeric NOT NULL
)
WITH (fillfactor='70');

CREATE TABLE public.multipart_parts (
    issuance_id uuid NOT NULL,
    upload_id uuid NOT NULL,
    part_number integer NOT NULL,
    content_length bigint,
    CONSTRAINT multipart_parts_content_length_check CHECK ((content_length >= 0)),
    CONSTRAINT multipart_parts_part_number_check CHECK (((part_number >= 1) AND (part_number <= 10000)))
);

CREATE TABLE public.multipart_uploads (
    id uuid NOT NULL,
    principal text NOT NULL COLLATE pg_catalog."C",
    bucket text NOT NULL COLLATE pg_catalog."C",
    object_key text NOT NULL COLLATE pg_catalog."C",
    content_type text NOT NULL,
    content_length bigint,
    state text NOT NULL,
    store_upload_id text COLLATE pg_catalog."C",
    part_numbers integer[] DEFAULT '{}'::integer[] NOT NULL,
    part_etags text[] DEFAULT '{}'::text[] NOT NULL,
    etag text,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    check_at timestamp with time zone NOT NULL,
    parts_length bigint DEFAULT 0 NOT NULL,
    parts_of_unknown_length integer DEFAULT 0 NOT NULL,
    may_be_complete boolean DEFAULT false NOT NULL,
    CONSTRAINT multipart_uploads_content_length_check CHECK ((content_length >= 0)),
    CONSTRAINT multipart_uploads_parts_check CHECK ((cardinality(part_numbers) = cardinality(part_etags))),
    CONSTRAINT multipart_uploads_state_check CHECK ((state = ANY (ARRAY['starting'::text, 'open'::text, 'completing'::text, 'completed'::text, 'aborting'::text, 'aborted'::text])))
);

CREATE TABLE public.policy_changes (
    id uuid NOT NULL
);

CREATE TABLE public.quota_usage (
    quota_id uuid NOT NULL,
    holder text NOT NULL COLLATE pg_catalog."C",
    period_start timestamp with time zone NOT NULL,
    shared boolean NOT NULL,
    used public.amount NOT NULL,
    released public.amount DEFAULT 0 NOT NULL,
    archived public.amount DEFAULT 0 NOT NULL
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0.02');

CREATE TABLE public.refusal_gaps (
    minute timestamp with time zone NOT NULL,
    dropped bigint NOT NULL,
    CONSTRAINT refusal_gaps_dropped_check CHECK ((dropped > 0))
);

CREATE TABLE public.refusals (
    ordinal bigint NOT NULL,
    request_id text NOT NULL COLLATE pg_catalog."C",
    refused_at timestamp with time zone NOT NULL,
    method text NOT NULL,
    route text NOT NULL,
    status smallint NOT NULL,
    code text NOT NULL,
    reason text NOT NULL,
    subject text,
    principal text COLLATE pg_catalog."C",
    source_address inet,
    bucket text COLLATE pg_catalog."C",
    action text,
    key_prefix text COLLATE pg_catalog."C",
    key_sha256 bytea,
    grant_id uuid,
    CONSTRAINT refusals_key_check CHECK ((((bucket IS NULL) = (key_prefix IS NULL)) AND ((bucket IS NULL) = (key_sha256 IS NULL)) AND (octet_length(key_sha256) = 32))),
    CONSTRAINT refusals_size_check CHECK (((octet_length(request_id) <= 64) AND (octet_length(route) <= 256) AND (octet_length(subject) <= 256) AND (octet_length(key_prefix) <= 128)))
);

ALTER TABLE public.refusals ALTER COLUMN ordinal ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.refusals_ordinal_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.remote_uploads (
    id uuid DEFAULT gen_random_uuid() NOT NULL,
    principal text NOT NULL COLLATE pg_catalog."C",
    bucket text NOT NULL COLLATE pg_catalog."C",
    object_key text NOT NULL COLLATE pg_catalog."C",
    content_type text NOT NULL,
    upload_id text COLLATE pg_catalog."C",
    started_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

CREATE TABLE public.storage_credentials (
    id uuid NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    kind text DEFAULT 'access-key'::text NOT NULL,
    access_key_id text NOT NULL,
    sealed bytea NOT NULL,
    key_id text NOT NULL,
    session_role jsonb,
    expires_at timestamp with time zone,
    previous_access_key_id text,
    previous_needed_until timestamp with time zone,
    rotated_change uuid,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    revision uuid DEFAULT gen_random_uuid() NOT NULL,
    CONSTRAINT storage_credentials_previous_check CHECK (((previous_access_key_id IS NULL) = (previous_needed_until IS NULL)))
);

CREATE TABLE public.store_events (
    bucket text NOT NULL COLLATE pg_catalog."C",
    object_key text NOT NULL COLLATE pg_catalog."C",
    made_at timestamp with time zone NOT NULL,
    size bigint,
    etag text,
    received_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    callback_id text COLLATE pg_catalog."C"
);

CREATE TABLE public.summed_caller_days (
    starts_at timestamp with time zone NOT NULL
);

CREATE TABLE public.summed_days (
    starts_at timestamp with time zone NOT NULL,
    summed_to timestamp with time zone NOT NULL,
    pages bigint NOT NULL,
    CONSTRAINT summed_days_check CHECK (((summed_to > starts_at) AND (summed_to <= (starts_at + '24:00:00'::interval))))
);

CREATE TABLE public.summed_hours (
    starts_at timestamp with time zone NOT NULL
);

CREATE TABLE public.ticket_revocations (
    principal text NOT NULL COLLATE pg_catalog."C",
    revoked_at timestamp with time zone NOT NULL
);

CREATE TABLE public.tickets (
    id uuid NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    hash bytea NOT NULL,
    principal text NOT NULL COLLATE pg_catalog."C",
    groups text[] NOT NULL,
    claims jsonb NOT NULL,
    issued_on text COLLATE pg_catalog."C",
    bucket text NOT NULL COLLATE pg_catalog."C",
    prefix text NOT NULL COLLATE pg_catalog."C",
    actions text[] NOT NULL,
    max_uses bigint NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    sealed bytea,
    key_id text,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    revision uuid DEFAULT gen_random_uuid() NOT NULL,
    CONSTRAINT tickets_hash_check CHECK ((octet_length(hash) = 32)),
    CONSTRAINT tickets_max_uses_check CHECK ((max_uses > 0)),
    CONSTRAINT tickets_sealed_check CHECK (((sealed IS NULL) = (key_id IS NULL)))
);

CREATE VIEW public.uploads AS
 SELECT i.id,
    i.issued_at,
    e.expires_at,
    i.delivery,
    i.action,
    i.method,
    i.principal,
    i.bucket,
    i.object_key,
    i.content_type,
    i.content_md5,
    COALESCE((i.content_length)::bigint, m.content_length) AS content_length,
    (((d.dead_at <= statement_timestamp()) OR (m.state = ANY (ARRAY['aborting'::text, 'aborted'::text]))) IS TRUE) AS is_dead,
    m.state AS multipart_state,
    m.etag AS multipart_etag,
    l.finding,
    l.mismatches,
    l.source,
    l.size,
    l.etag,
    l.content_type AS found_type,
    l.found_at,
    t.made_at,
    t.size AS event_size,
    t.etag AS event_etag,
        CASE
            WHEN (l.finding = ANY (ARRAY['landed'::text, 'mismatched'::text, 'unverified'::text])) THEN l.finding
            WHEN ((m.state = 'completed'::text) OR (t.made_at IS NOT NULL) OR (k.issuance_id IS NOT NULL)) THEN 'landed'::text
            WHEN ((d.dead_at <= statement_timestamp()) OR (m.state = ANY (ARRAY['aborting'::text, 'aborted'::text]))) THEN 'expired'::text
            ELSE 'issued'::text
        END AS state,
    i.matched_principal,
    i.grant_id,
    i.credential_id,
    (((i.action)::text = 'PutObject'::text) AND (((i.delivery)::text = ANY (ARRAY['presigned-url'::text, 'post-policy'::text, 'multipart-start'::text])) OR (((i.delivery)::text = 'remote-signature'::text) AND ((i.method)::text = 'PUT'::text)))) AS is_upload,
        CASE
            WHEN (l.finding = ANY (ARRAY['landed'::text, 'mismatched'::text, 'unverified'::text])) THEN COALESCE(l.size, t.size, p.bytes)
            WHEN ((m.state = 'completed'::text) OR (t.made_at IS NOT NULL) OR (k.issuance_id IS NOT NULL)) THEN COALESCE(t.size, p.bytes, k.bytes)
            ELSE NULL::bigint
        END AS landed_bytes,
    (((m.state = ANY (ARRAY['starting'::text, 'open'::text])) OR ((m.state = 'aborting'::text) AND (m.part_numbers = '{}'::integer[])) OR ((m.state = 'aborted'::text) AND (NOT m.may_be_complete))) IS TRUE) AS is_uncompleted
   FROM (((((((public.issuances i
     LEFT JOIN public.multipart_uploads m ON (((m.id = i.id) AND ((i.delivery)::text = 'multipart-start'::text))))
     CROSS JOIN LATERAL ( SELECT COALESCE(m.expires_at, i.expires_at) AS expires_at) e)
     CROSS JOIN LATERAL ( SELECT GREATEST(e.expires_at, (i.issued_at + (e.expires_at - public.uuid_instant(i.id)))) AS dead_at) d)
     LEFT JOIN public.landings l ON ((l.issuance_id = i.id)))
     LEFT JOIN public.landed_uploads k ON (((k.issuance_id = i.id) AND (l.issuance_id IS NULL))))
     LEFT JOIN LATERAL ( SELECT s.made_at,
            s.size,
            s.etag
           FROM public.store_events s
          WHERE ((s.bucket = i.bucket) AND (s.object_key = i.object_key) AND (s.received_at >= i.issued_at) AND (s.made_at > (i.issued_at - '00:00:30'::interval)) AND (s.made_at < (d.dead_at + '00:15:00'::interval)) AND ((m.id IS NULL) OR ((m.state = 'completed'::text) AND (lower(s.etag) = lower(m.etag)))))
          ORDER BY s.made_at DESC
         LIMIT 1) t ON (true))
     LEFT JOIN LATERAL ( SELECT (
                CASE
                    WHEN bool_and(n.is_bound) THEN sum(n.length)
                    ELSE NULL::numeric
                END)::bigint AS bytes
           FROM ( SELECT min(q.content_length) AS length,
                    COALESCE(((count(q.content_length) = count(*)) AND (min(q.content_length) = max(q.content_length))), false) AS is_bound
                   FROM (unnest(m.part_numbers) c(number)
                     LEFT JOIN public.multipart_parts q ON (((q.upload_id = m.id) AND (q.part_number = c.number))))
                  GROUP BY c.number) n) p ON ((m.state = 'completed'::text)));

ALTER TABLE ONLY public.admin_audit
    ADD CONSTRAINT admin_audit_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_prefix_key UNIQUE (prefix);

ALTER TABLE ONLY public.buckets
    ADD CONSTRAINT buckets_pkey PRIMARY KEY (name);

ALTER TABLE ONLY public.caller_landing_days
    ADD CONSTRAINT caller_landing_days_pkey PRIMARY KEY (principal, day, grant_id, matched_principal, bucket, action, delivery, credential_id);

ALTER TABLE ONLY public.caller_landings
    ADD CONSTRAINT caller_landings_pkey PRIMARY KEY (principal, hour, grant_id, matched_principal, bucket, action, delivery, credential_id);

ALTER TABLE ONLY public.deletions
    ADD CONSTRAINT deletions_pkey PRIMARY KEY (principal, issuance_id);

ALTER TABLE ONLY public.denials
    ADD CONSTRAINT denials_pkey PRIMARY KEY (principal, bucket, code, minute);

ALTER TABLE ONLY public.event_secrets
    ADD CONSTRAINT event_secrets_name_key UNIQUE (name);

ALTER TABLE ONLY public.event_secrets
    ADD CONSTRAINT event_secrets_pkey PRIMARY KEY (bucket);

ALTER TABLE ONLY public.event_secrets
    ADD CONSTRAINT event_secrets_previous_name_key UNIQUE (previous_name);

ALTER TABLE ONLY public.gateways
    ADD CONSTRAINT gateways_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.grant_uses
    ADD CONSTRAINT grant_uses_pkey PRIMARY KEY (grant_id, bucket);

ALTER TABLE public.grants
    ADD CONSTRAINT grants_actions_check CHECK (((cardinality(actions) > 0) AND (actions <@ '{PutObject,GetObject,ListObjects,DeleteObject}'::text[]))) NOT VALID;

ALTER TABLE ONLY public.grants
    ADD CONSTRAINT grants_pkey PRIMARY KEY (id, created_change);

ALTER TABLE ONLY public.group_member_history
    ADD CONSTRAINT group_member_history_pkey PRIMARY KEY (member_principal, group_principal, created_change);

ALTER TABLE ONLY public.group_members
    ADD CONSTRAINT group_members_pkey PRIMARY KEY (group_principal, member_principal);

ALTER TABLE ONLY public.idempotency_keys
    ADD CONSTRAINT idempotency_keys_key UNIQUE (key_digest, caller, route);

ALTER TABLE ONLY public.idempotency_keys
    ADD CONSTRAINT idempotency_keys_pkey PRIMARY KEY (id);

ALTER DOMAIN public.issuance_action
    ADD CONSTRAINT issuance_action_check CHECK (((VALUE = ANY (ARRAY['PutObject'::text, 'GetObject'::text, 'ListObjects'::text, 'DeleteObject'::text])) OR (VALUE = ANY (ARRAY['PutObject,GetObject'::text, 'PutObject,ListObjects'::text, 'PutObject,DeleteObject'::text, 'GetObject,ListObjects'::text, 'GetObject,DeleteObject'::text, 'ListObjects,DeleteObject'::text, 'PutObject,GetObject,ListObjects'::text, 'PutObject,GetObject,DeleteObject'::text, 'PutObject,ListObjects,DeleteObject'::text, 'GetObject,ListObjects,DeleteObject'::text, 'PutObject,GetObject,ListObjects,DeleteObject'::text])))) NOT VALID;

ALTER DOMAIN public.issuance_delivery
    ADD CONSTRAINT issuance_delivery_check CHECK ((VALUE = ANY (ARRAY['presigned-url'::text, 'post-policy'::text, 'multipart-start'::text, 'multipart-part'::text, 'multipart-complete'::text, 'redirect'::text, 'sts'::text, 'remote-signature'::text, 'cdn-cookies'::text]))) NOT VALID;

ALTER TABLE ONLY public.issuances
    ADD CONSTRAINT issuances_pkey PRIMARY KEY (id, issued_at);

ALTER TABLE ONLY public.issuers
    ADD CONSTRAINT issuers_group_prefix_key UNIQUE (group_prefix);

ALTER TABLE ONLY public.issuers
    ADD CONSTRAINT issuers_issuer_key UNIQUE (issuer);

ALTER TABLE ONLY public.issuers
    ADD CONSTRAINT issuers_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.issuers
    ADD CONSTRAINT issuers_principal_prefix_key UNIQUE (principal_prefix);

ALTER TABLE ONLY public.landed_uploads
    ADD CONSTRAINT landed_uploads_pkey PRIMARY KEY (issuance_id);

ALTER TABLE ONLY public.landing_changes
    ADD CONSTRAINT landing_changes_pkey PRIMARY KEY (ordinal);

ALTER TABLE ONLY public.landing_sums
    ADD CONSTRAINT landing_sums_pkey PRIMARY KEY (minute, bucket, action, delivery, credential_id);

ALTER TABLE ONLY public.landings
    ADD CONSTRAINT landings_pkey PRIMARY KEY (issuance_id);

ALTER TABLE ONLY public.multipart_parts
    ADD CONSTRAINT multipart_parts_pkey PRIMARY KEY (issuance_id);

ALTER TABLE ONLY public.multipart_uploads
    ADD CONSTRAINT multipart_uploads_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.past_changes
    ADD CONSTRAINT past_changes_pkey PRIMARY KEY (tag);

ALTER TABLE ONLY public.policy_changes
    ADD CONSTRAINT policy_changes_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.policy_log
    ADD CONSTRAINT policy_log_pkey PRIMARY KEY (seq);

ALTER TABLE ONLY public.quota_usage
    ADD CONSTRAINT quota_usage_pkey PRIMARY KEY (quota_id, period_start, holder);

ALTER TABLE public.quotas
    ADD CONSTRAINT quotas_action_check CHECK ((action = ANY (ARRAY['PutObject'::text, 'GetObject'::text, 'ListObjects'::text, 'DeleteObject'::text]))) NOT VALID;

ALTER TABLE ONLY public.quotas
    ADD CONSTRAINT quotas_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.refusal_gaps
    ADD CONSTRAINT refusal_gaps_pkey PRIMARY KEY (minute);

ALTER TABLE ONLY public.refusals
    ADD CONSTRAINT refusals_pkey PRIMARY KEY (ordinal);

ALTER TABLE ONLY public.remote_uploads
    ADD CONSTRAINT remote_uploads_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.remote_uploads
    ADD CONSTRAINT remote_uploads_upload_id_key UNIQUE (bucket, upload_id);

ALTER TABLE ONLY public.reservations
    ADD CONSTRAINT reservations_pkey PRIMARY KEY (issuance_id, quota_id);

ALTER TABLE ONLY public.storage_credentials
    ADD CONSTRAINT storage_credentials_id_kind_key UNIQUE (id, kind);

ALTER TABLE public.storage_credentials
    ADD CONSTRAINT storage_credentials_kind_check CHECK ((kind = ANY (ARRAY['access-key'::text, 'service-account'::text, 'key-pair'::text]))) NOT VALID;

ALTER TABLE ONLY public.storage_credentials
    ADD CONSTRAINT storage_credentials_name_key UNIQUE (name);

ALTER TABLE ONLY public.storage_credentials
    ADD CONSTRAINT storage_credentials_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.store_events
    ADD CONSTRAINT store_events_pkey PRIMARY KEY (bucket, object_key, made_at);

ALTER TABLE ONLY public.summed_caller_days
    ADD CONSTRAINT summed_caller_days_pkey PRIMARY KEY (starts_at);

ALTER TABLE ONLY public.summed_days
    ADD CONSTRAINT summed_days_pkey PRIMARY KEY (starts_at);

ALTER TABLE ONLY public.summed_hours
    ADD CONSTRAINT summed_hours_pkey PRIMARY KEY (starts_at);

ALTER TABLE ONLY public.ticket_revocations
    ADD CONSTRAINT ticket_revocations_pkey PRIMARY KEY (principal);

ALTER TABLE public.tickets
    ADD CONSTRAINT tickets_actions_check CHECK (((cardinality(actions) > 0) AND (actions <@ '{PutObject,GetObject,ListObjects,DeleteObject}'::text[]))) NOT VALID;

ALTER TABLE ONLY public.tickets
    ADD CONSTRAINT tickets_name_key UNIQUE (name);

ALTER TABLE ONLY public.tickets
    ADD CONSTRAINT tickets_pkey PRIMARY KEY (id);

CREATE INDEX admin_audit_actor_idx ON public.admin_audit USING btree (actor, id);

CREATE INDEX admin_audit_kind_resource_id_idx ON public.admin_audit USING btree (kind, resource_id, id);

CREATE INDEX admin_audit_operation_idx ON public.admin_audit USING btree (operation, id);

CREATE INDEX admin_audit_principal_idx ON public.admin_audit USING btree (((COALESCE(after, before) ->> 'principal'::text)), id) WHERE (kind = 'Grant'::text);

CREATE INDEX admin_audit_request_id_idx ON public.admin_audit USING btree (request_id);

CREATE UNIQUE INDEX api_keys_previous_prefix_idx ON public.api_keys USING btree (previous_prefix) WHERE (previous_prefix IS NOT NULL);

CREATE INDEX api_keys_principal_idx ON public.api_keys USING btree (principal);

CREATE INDEX buckets_credential_id_idx ON public.buckets USING btree (credential_id);

CREATE INDEX caller_days_day_idx ON public.caller_days USING btree (day);

CREATE INDEX caller_days_grant_id_idx ON public.caller_days USING btree (grant_id, day);

CREATE INDEX caller_days_matched_idx ON public.caller_days USING btree (matched_principal, day) WHERE (matched_principal <> principal);

CREATE INDEX caller_days_principal_idx ON public.caller_days USING btree (principal, day);

CREATE INDEX caller_landing_days_day_idx ON public.caller_landing_days USING btree (day);

CREATE INDEX caller_landing_days_grant_id_idx ON public.caller_landing_days USING btree (grant_id, day);

CREATE INDEX caller_landing_days_matched_idx ON public.caller_landing_days USING btree (matched_principal, day) WHERE (matched_principal <> principal);

CREATE INDEX caller_landings_grant_id_idx ON public.caller_landings USING btree (grant_id, hour);

CREATE INDEX caller_landings_hour_idx ON public.caller_landings USING btree (hour);

CREATE INDEX caller_landings_matched_idx ON public.caller_landings USING btree (matched_principal, hour) WHERE (matched_principal <> principal);

CREATE INDEX caller_sums_grant_id_idx ON public.caller_sums USING btree (grant_id, hour);

CREATE INDEX caller_sums_hour_idx ON public.caller_sums USING btree (hour);

CREATE INDEX caller_sums_matched_idx ON public.caller_sums USING btree (matched_principal, hour) WHERE (matched_principal <> principal);

CREATE INDEX caller_sums_principal_idx ON public.caller_sums USING btree (principal, hour);

CREATE INDEX deletions_bucket_object_key_idx ON public.deletions USING btree (bucket, object_key, dead_at);

CREATE INDEX deletions_dead_at_idx ON public.deletions USING btree (dead_at);

CREATE INDEX denials_minute_idx ON public.denials USING btree (minute);

CREATE INDEX grants_bucket_prefix_principal_idx ON public.grants USING btree (bucket, prefix, principal) WHERE (removed_at IS NULL);

CREATE INDEX grants_created_change_idx ON public.grants USING btree (created_change);

CREATE UNIQUE INDEX grants_live_id_idx ON public.grants USING btree (id) WHERE (removed_at IS NULL);

CREATE INDEX grants_removed_change_idx ON public.grants USING btree (removed_change) WHERE (removed_change IS NOT NULL);

CREATE INDEX grants_removed_idx ON public.grants USING btree (principal, bucket, prefix) WHERE (removed_at IS NOT NULL);

CREATE INDEX grants_removed_templates_idx ON public.grants USING btree (principal, bucket) WHERE (is_template AND (removed_at IS NOT NULL));

CREATE UNIQUE INDEX grants_rule_idx ON public.grants USING btree (principal, bucket, prefix, effect, (('PutObject'::text = ANY (actions))), (('GetObject'::text = ANY (actions))), (('ListObjects'::text = ANY (actions))), (('DeleteObject'::text = ANY (actions))), ((md5((conditions)::text))::uuid), not_before, not_after) NULLS NOT DISTINCT WHERE (removed_at IS NULL);

CREATE INDEX grants_templates_idx ON public.grants USING btree (principal, bucket) WHERE (is_template AND (removed_at IS NULL));

CREATE INDEX group_member_history_created_change_idx ON public.group_member_history USING btree (created_change);

CREATE INDEX group_member_history_removed_change_idx ON public.group_member_history USING btree (removed_change) WHERE (removed_change IS NOT NULL);

CREATE INDEX group_members_member_principal_idx ON public.group_members USING btree (member_principal);

CREATE INDEX idempotency_keys_created_at_idx ON public.idempotency_keys USING btree (created_at);

CREATE INDEX issuance_sums_minute_idx ON public.issuance_sums USING btree (minute);

CREATE INDEX issuances_lookup_idx ON ONLY public.issuances USING brin (issued_at, expires_at, principal text_bloom_ops (n_distinct_per_range='64', false_positive_rate='0.01'), grant_id uuid_bloom_ops (n_distinct_per_range='64', false_positive_rate='0.01'), public.leading_segments(object_key) text_bloom_ops (n_distinct_per_range='64', false_positive_rate='0.01')) WITH (pages_per_range='2', autosummarize=off);

CREATE INDEX issuances_time_idx ON ONLY public.issuances USING brin (issued_at) WITH (pages_per_range='32', autosummarize=off);

CREATE INDEX landing_changes_events_idx ON public.landing_changes USING btree (ordinal) WHERE (issuance_id IS NULL);

CREATE INDEX landing_changes_uploads_idx ON public.landing_changes USING btree (ordinal) WHERE (issuance_id IS NOT NULL);

CREATE INDEX landings_finding_idx ON public.landings USING btree (finding, issuance_id) WHERE (finding = ANY (ARRAY['mismatched'::text, 'unverified'::text]));

CREATE INDEX multipart_parts_upload_id_idx ON public.multipart_parts USING btree (upload_id, part_number, content_length);

CREATE INDEX multipart_uploads_check_at_idx ON public.multipart_uploads USING btree (check_at) WHERE (state = ANY (ARRAY['starting'::text, 'open'::text, 'completing'::text, 'aborting'::text]));

CREATE INDEX multipart_uploads_ended_idx ON public.multipart_uploads USING btree (expires_at) WHERE (state = ANY (ARRAY['completed'::text, 'aborted'::text]));

CREATE INDEX multipart_uploads_object_idx ON public.multipart_uploads USING btree (bucket, object_key);

CREATE INDEX multipart_uploads_principal_idx ON public.multipart_uploads USING btree (principal) WHERE (state = ANY (ARRAY['starting'::text, 'open'::text, 'completing'::text]));

CREATE INDEX past_changes_seq_idx ON public.past_changes USING btree (seq);

CREATE UNIQUE INDEX policy_log_tag_idx ON public.policy_log USING btree (tag);

CREATE INDEX quotas_bucket_idx ON public.quotas USING btree (bucket);

CREATE UNIQUE INDEX quotas_rule_idx ON public.quotas USING btree (principal, bucket, action, metric, period, sharing) NULLS NOT DISTINCT;

CREATE INDEX refusals_request_id_idx ON public.refusals USING btree (request_id);

CREATE INDEX remote_uploads_key_idx ON public.remote_uploads USING btree (bucket, object_key, principal, content_type);

CREATE INDEX remote_uploads_object_idx ON public.remote_uploads USING btree (bucket, object_key, principal, started_at) WHERE (upload_id IS NULL);

CREATE INDEX remote_uploads_started_at_idx ON public.remote_uploads USING btree (started_at);

CREATE INDEX reservations_check_at_idx ON public.reservations USING btree (check_at);

CREATE INDEX reservations_quota_id_idx ON public.reservations USING btree (quota_id, period_start, holder);

CREATE INDEX storage_credentials_rotated_change_idx ON public.storage_credentials USING btree (rotated_change) WHERE (rotated_change IS NOT NULL);

CREATE UNIQUE INDEX store_events_callback_idx ON public.store_events USING btree (bucket, object_key, callback_id) WHERE (callback_id IS NOT NULL);

CREATE INDEX store_events_received_at_idx ON public.store_events USING btree (received_at);

CREATE INDEX tickets_expires_at_idx ON public.tickets USING btree (expires_at);

CREATE INDEX tickets_principal_idx ON public.tickets USING btree (principal, id);

CREATE TRIGGER changed_findings_are_noted AFTER UPDATE ON public.landings REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_landing_changes();

CREATE CONSTRAINT TRIGGER changes_are_logged AFTER INSERT ON public.policy_changes DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.write_policy_log();

CREATE TRIGGER completed_uploads_are_noted AFTER UPDATE OF state ON public.multipart_uploads FOR EACH ROW WHEN (((new.state = 'completed'::text) AND (old.state <> 'completed'::text))) EXECUTE FUNCTION public.note_landing_changes();

CREATE TRIGGER events_are_noted AFTER INSERT ON public.store_events REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_landing_changes();

CREATE TRIGGER memberships_are_kept AFTER INSERT OR DELETE ON public.group_members FOR EACH ROW EXECUTE FUNCTION public.keep_membership();

CREATE TRIGGER new_findings_are_noted AFTER INSERT ON public.landings REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_landing_changes();

ALTER TABLE ONLY public.buckets
    ADD CONSTRAINT buckets_cdn_credential_id_fkey FOREIGN KEY (cdn_credential_id) REFERENCES public.storage_credentials(id) NOT VALID;

ALTER TABLE ONLY public.buckets
    ADD CONSTRAINT buckets_credential_id_fkey FOREIGN KEY (credential_id) REFERENCES public.storage_credentials(id);

ALTER TABLE ONLY public.buckets
    ADD CONSTRAINT buckets_credential_kind_fkey FOREIGN KEY (credential_id, credential_kind) REFERENCES public.storage_credentials(id, kind);

ALTER TABLE ONLY public.event_secrets
    ADD CONSTRAINT event_secrets_bucket_fkey FOREIGN KEY (bucket) REFERENCES public.buckets(name) ON DELETE CASCADE;

ALTER TABLE ONLY public.grants
    ADD CONSTRAINT grants_created_change_fkey FOREIGN KEY (created_change) REFERENCES public.policy_changes(id);

ALTER TABLE ONLY public.grants
    ADD CONSTRAINT grants_removed_change_fkey FOREIGN KEY (removed_change) REFERENCES public.policy_changes(id);

ALTER TABLE ONLY public.multipart_parts
    ADD CONSTRAINT multipart_parts_upload_id_fkey FOREIGN KEY (upload_id) REFERENCES public.multipart_uploads(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.quotas
    ADD CONSTRAINT quotas_bucket_fkey FOREIGN KEY (bucket) REFERENCES public.buckets(name);

ALTER TABLE ONLY public.storage_credentials
    ADD CONSTRAINT storage_credentials_rotated_change_fkey FOREIGN KEY (rotated_change) REFERENCES public.policy_changes(id);
