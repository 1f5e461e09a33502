-- Lists the counters of current periods whose use differs from what the ledger adds up to. All is read in one snapshot.
--
-- A counter is right where it equals its charges, those in the ledger and those archived, less what was given back.
--
-- Result: for each counter that differs, its key, its use, and the use that the ledger adds up to.
-- Locks: none. Callers: the gateway's role. Errors: none.
CREATE OR REPLACE FUNCTION audit_quotas()
RETURNS TABLE (quota_id uuid, holder text, period_start timestamptz, used bigint, charged bigint)
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
