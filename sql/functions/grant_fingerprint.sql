-- A digest of everything that a grant says: equal for grants that differ in identifier and origin only.
--
-- Actions count without their order, instants to the millisecond, as their texts have them.
--
-- Arguments: the columns of grants with the same names.
-- Result: SHA-256, 32 bytes. Locks: none. Callers: the gateway's role. Errors: none.
CREATE OR REPLACE FUNCTION grant_fingerprint(
    p_principal text, p_bucket text, p_prefix text, p_is_template boolean, p_effect text, p_actions text[],
    p_conditions jsonb, p_not_before timestamptz, p_not_after timestamptz, p_note text
) RETURNS bytea
LANGUAGE sql STABLE
AS $$
    SELECT sha256(convert_to(ROW(
        p_principal, p_bucket, p_prefix, p_is_template, p_effect,
        'PutObject' = ANY (p_actions), 'GetObject' = ANY (p_actions), 'ListObjects' = ANY (p_actions),
        'DeleteObject' = ANY (p_actions), p_conditions,
        round(extract(epoch FROM p_not_before) * 1000), round(extract(epoch FROM p_not_after) * 1000), p_note
    )::text, 'UTF8'))
$$;
