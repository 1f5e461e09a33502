-- Settling reservations, and recomputing counters from the ledger.

-- Ends reservations and gives back what did not arrive, in one transaction.
--
-- Takes rows in the order in which recordings take them, and never waits for the lock of the policy log. Somebody else's
-- reservations are skipped.
--   p_landed    per reservation: bytes that arrived, NULL where that is not known
--   p_is_final  per reservation: whether it ends; otherwise it is looked at again after a delay
CREATE FUNCTION settle_reservations(
    p_issuance_ids uuid[], p_quota_ids uuid[], p_landed bigint[], p_is_final boolean[], p_delay_seconds double precision
) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    v_quota_ids uuid[];
    v_holders text[];
    v_starts timestamptz[];
    v_amounts bigint[];
BEGIN
    WITH findings AS (
        SELECT f.issuance_id, f.quota_id, f.landed, f.is_final
        FROM unnest(p_issuance_ids, p_quota_ids, p_landed, p_is_final) AS f (issuance_id, quota_id, landed, is_final)
    ),
    mine AS MATERIALIZED (
        SELECT r.issuance_id, r.quota_id, f.landed, f.is_final
        FROM reservations r
        JOIN findings f ON f.issuance_id = r.issuance_id AND f.quota_id = r.quota_id
        FOR UPDATE OF r SKIP LOCKED
    ),
    postponed AS (
        UPDATE reservations r
        SET check_at = clock_timestamp() + make_interval(secs => p_delay_seconds)
        FROM mine m
        WHERE NOT m.is_final AND r.issuance_id = m.issuance_id AND r.quota_id = m.quota_id
    ),
    ended AS (
        DELETE FROM reservations r
        USING mine m
        WHERE m.is_final AND r.issuance_id = m.issuance_id AND r.quota_id = m.quota_id
        RETURNING r.quota_id, r.holder, r.period_start,
            CASE WHEN m.landed IS NULL THEN 0 ELSE greatest(r.amount - greatest(m.landed, 0), 0) END AS amount
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

-- Counters of the current periods whose use is not what the rows of the ledger add up to, in one snapshot.
--
-- Each counter is the sum of its charges, in the ledger and archived, less what was given back.
CREATE FUNCTION audit_quotas()
RETURNS TABLE (quota_id uuid, holder text, period_start timestamptz, used bigint, charged bigint)
LANGUAGE sql STABLE
BEGIN ATOMIC
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
END;

-- Sets one counter of a current period to what the rows of the ledger add up to; answers the use it has then.
--
-- Whoever charges the counter holds its row until the charge is committed: with the row locked, a later statement sees all
-- charges. One row is taken, so that nobody can wait in a circle.
CREATE FUNCTION repair_quota_usage(p_quota_id uuid, p_holder text, p_period_start timestamptz) RETURNS bigint
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    v_quota quotas;
    v_charged bigint;
    v_used bigint;
BEGIN
    SELECT q.* INTO v_quota FROM quotas q WHERE q.id = p_quota_id;
    IF NOT FOUND THEN
        RETURN 0;
    END IF;
    -- Before the counter, since emptying a partition takes the two in this order.
    LOCK TABLE issuances IN ACCESS SHARE MODE;
    INSERT INTO quota_usage (quota_id, holder, period_start, shared, used)
    VALUES (p_quota_id, p_holder, p_period_start, v_quota.sharing = 'shared', 0)
    ON CONFLICT DO NOTHING;
    PERFORM
    FROM quota_usage u
    WHERE u.quota_id = p_quota_id AND u.holder = p_holder AND u.period_start = p_period_start
    FOR UPDATE;
    SELECT coalesce(sum(c.amount), 0) INTO v_charged
    FROM issuances i
    CROSS JOIN LATERAL unnest(i.quota_ids, i.quota_amounts) AS c (quota_id, amount)
    WHERE i.issued_at >= p_period_start AND i.quota_ids @> ARRAY[p_quota_id] AND c.quota_id = p_quota_id
        AND i.issued_at < coalesce(quota_period_end(v_quota.period, p_period_start), 'infinity')
        AND p_holder = CASE v_quota.sharing WHEN 'shared' THEN v_quota.principal ELSE i.principal END;
    UPDATE quota_usage u
    SET used = greatest(v_charged + u.archived - u.released, 0)
    WHERE u.quota_id = p_quota_id AND u.holder = p_holder AND u.period_start = p_period_start
    RETURNING u.used INTO v_used;
    RETURN v_used;
END
$$;
