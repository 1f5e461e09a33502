-- Every prefix and template in a bucket that covers a place, or may cover it for some identity. A template whose grants
-- deny covers everything below the text before its first variable, for identities that the variables do not fit.
--
--   p_bucket  the bucket
--   p_place   a key, or a prefix: empty, or ending in /
-- Result: the beginnings of the place, whether or not a grant has them, and templates of live grants.
-- Locks: none. Callers: the gateway's role. Errors: none.
CREATE OR REPLACE FUNCTION covering_prefixes(p_bucket text, p_place text) RETURNS SETOF text
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
