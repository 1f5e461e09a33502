-- Sums up an hour of the ledger by caller and grant: the latest that sum_issuances has passed and that is not summed up
-- yet. Notes when each grant was last used. Where no hour is left, sums up the latest day whose hours are all summed
-- up.
--
-- Result: whether there is more to do. Locks: 'sums', if it is free. Runs with the owner's rights. Callers: the
-- gateway's role.
-- Errors: invalid_transaction_state outside READ COMMITTED.
CREATE OR REPLACE FUNCTION sum_callers() RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = public, pg_temp
SET timezone = 'UTC'
SET plan_cache_mode = force_custom_plan
SET work_mem = '32MB'
SET enable_seqscan = off
-- As in sum_issuances: for the hours without rows, the whole tree of identifiers would be read each time.
SET enable_indexscan = off
SET enable_sort = off
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
