-- Writes down what settling found of uploads of one object. It knows sizes alone, so it replaces nothing that was found
-- before, and that there is no object says nothing of an upload that is known to have landed.
--
--   p_issuance_ids, p_landed  uploads, and for each the size that was found, which may be 0; NULL where there is no
--                             object
-- Result: none. Locks: the rows that it adds. Callers: the gateway's role. Errors: none.
CREATE OR REPLACE FUNCTION note_settled_uploads(p_issuance_ids uuid[], p_landed bigint[]) RETURNS void
LANGUAGE sql VOLATILE
AS $$
    INSERT INTO landings (issuance_id, finding, mismatches, source, size)
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
        JOIN issuances i ON i.id = s.id AND i.issued_at > statement_timestamp() - interval '10 days'
        WHERE s.landed IS NOT NULL OR NOT EXISTS (SELECT FROM landed_uploads k WHERE k.issuance_id = s.id)
        ORDER BY s.id
    ) f
    ON CONFLICT DO NOTHING;
$$;
