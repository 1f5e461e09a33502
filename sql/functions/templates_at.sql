-- The templates of live grants in a bucket whose first variable follows a beginning of a place.
--
-- They are found by the index (bucket, prefix, principal), which is read once for each different text, however many
-- grants have it; '|' is the byte after '{'.
--
--   p_bucket  the bucket
--   p_place   a key, or a prefix: empty, or ending in /
-- Result: the texts; for each beginning the first 1,000. Locks: none.
-- Callers: the gateway's role; covering_prefixes. Errors: none.
CREATE OR REPLACE FUNCTION templates_at(p_bucket text, p_place text) RETURNS SETOF text
LANGUAGE sql STABLE
AS $$
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
$$;
