-- Adds refusals, and counts those that a gateway dropped. Each element of the arrays is one refusal.
--
--   p_request_ids … p_grant_ids  the columns of refusals, as text where the column has another type; NULL where unknown
--   p_minutes, p_dropped         minutes in which the gateway dropped refusals, and how many
-- Result: none. Locks: the rows of refusal_gaps, in the order of their minutes. Runs with the owner's rights.
-- Callers: the gateway's role. Errors: 22 and 23, where a value does not fit its column.
CREATE OR REPLACE FUNCTION record_refusals(
    p_request_ids text[], p_refused_at timestamptz[], p_methods text[], p_routes text[], p_statuses integer[],
    p_codes text[], p_reasons text[], p_subjects text[], p_principals text[], p_source_addresses text[],
    p_buckets text[], p_actions text[], p_key_prefixes text[], p_key_digests text[], p_grant_ids text[],
    p_minutes timestamptz[], p_dropped bigint[]
) RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = public, pg_temp
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
