-- What the links of a time charged to one counter of a quota.
--
--   p_quota, p_holder  the counter
--   p_from, p_to       when the links were issued; p_to is not part of it
-- Result: the sum. Locks: none. Callers: repair_quota_usage. Errors: none.
CREATE OR REPLACE FUNCTION quota_charges(
    p_quota quotas, p_holder text, p_from timestamptz, p_to timestamptz
) RETURNS bigint
LANGUAGE plpgsql VOLATILE
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
