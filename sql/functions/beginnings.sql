-- The beginnings of a key or prefix at which a grant covers it: empty, each text up to a '/', and the whole.
--
--   p_place  a key, or a prefix
-- Result: the texts. Locks: none. Callers: covering_prefixes, templates_at, can_give_back. Errors: none.
CREATE OR REPLACE FUNCTION beginnings(p_place text) RETURNS SETOF text
LANGUAGE sql IMMUTABLE
AS $$
    SELECT ''
    UNION
    SELECT string_agg(s.segment, '/') OVER (ORDER BY s.place) || CASE WHEN s.place < s.count THEN '/' ELSE '' END
    FROM (
        SELECT u.segment, u.place, count(*) OVER () AS count
        FROM unnest(string_to_array(p_place, '/')) WITH ORDINALITY AS u (segment, place)
    ) s
$$;
