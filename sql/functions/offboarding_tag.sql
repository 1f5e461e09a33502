-- A digest of rows that are about to be removed, by which a change is bound to what was shown.
--
--   p_marks  the marks of the rows (see offboarding_rows)
-- Result: SHA-256 in hexadecimal digits; equal for the same rows, in whatever order. Locks: none.
-- Callers: the gateway's role; offboard_principal. Errors: none.
CREATE OR REPLACE FUNCTION offboarding_tag(p_marks text[]) RETURNS text
LANGUAGE sql STABLE
AS $$
    SELECT encode(
        sha256(convert_to(coalesce(string_agg(m.mark, chr(30) ORDER BY m.mark COLLATE "C"), ''), 'UTF8')), 'hex')
    FROM unnest(p_marks) AS m (mark)
$$;
