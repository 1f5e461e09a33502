-- Sums up the bytes that landed, by the minute in which their links were issued, and by the hour for each caller and
-- grant: what changed since the last call.
--
-- An upload that changed is looked at anew, and the difference from what was counted of it is added. So a change may be
-- noted twice or late, and the sums are those of the view uploads. If an upload landed, a look that found nothing is
-- deleted, whether it came before or after: landed_uploads keeps that it landed once the store's report is pruned.
--
-- Uploads cannot be found by the key of an event. So events are gathered, and one scan of the links that were alive
-- finds the uploads of all. Each waits at least a minute, so that links whose recording was under way when it came, and
-- for which it counts in the view, are there.
--
--   p_most      how many changes of each kind to take at most
--   p_patience  how long an event waits at least; at most it waits twice as long, or three times if the clock was ahead
-- Result: whether there is more to do. Locks: 'sums', if it is free; the changes; rows of landings that are forgotten.
-- Runs with the owner's rights.
-- Callers: the gateway's role.
-- Errors: invalid_transaction_state outside READ COMMITTED.
CREATE OR REPLACE FUNCTION sum_landings(p_most integer, p_patience interval) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = public, pg_temp
SET timezone = 'UTC'
SET plan_cache_mode = force_custom_plan
SET work_mem = '32MB'
SET enable_seqscan = off
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
