-- A digest of what a grant applies to: equal for grants that differ only in what they permit there.
--
-- Arguments: the columns of grants with the same names.
-- Result: SHA-256, 32 bytes. Locks: none. Callers: the gateway's role. Errors: none.
CREATE OR REPLACE FUNCTION grant_key(
    p_principal text, p_bucket text, p_prefix text, p_is_template boolean, p_effect text
) RETURNS bytea
LANGUAGE sql STABLE
AS $$
    SELECT sha256(convert_to(ROW(p_principal, p_bucket, p_prefix, p_is_template, p_effect)::text, 'UTF8'))
$$;
