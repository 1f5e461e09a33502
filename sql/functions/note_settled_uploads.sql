-- Writes down what settling found of uploads of one object. It knows sizes alone, so it replaces nothing but a look
-- that found no object, which may have come before the upload. That there is no object says nothing of an upload that
-- is known to have landed.
--
-- A link lives for a week, and a store may be silent for weeks after that. Identifiers hold the instant of signing, and
-- a request may be repeated for a day: so few days of the ledger are read, however old they are.
--
--   p_issuance_ids, p_landed  uploads, and for each the size that was found, which may be 0; NULL where there is no
--                             object
-- Result: none. Locks: the rows that it adds or replaces. Callers: the gateway's role. Errors: none.
CREATE OR REPLACE FUNCTION note_settled_uploads(p_issuance_ids uuid[], p_landed bigint[]) RETURNS void
LANGUAGE sql VOLATILE
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
