-- Grants that cover the same actions are told apart by no order in which they were written down.
CREATE OR REPLACE FUNCTION grant_fingerprint(
    p_principal text, p_bucket text, p_prefix text, p_is_template boolean, p_effect text, p_actions text[],
    p_conditions jsonb, p_not_before timestamptz, p_not_after timestamptz, p_note text
) RETURNS bytea
LANGUAGE sql STABLE
RETURN sha256(convert_to(ROW(
    p_principal, p_bucket, p_prefix, p_is_template, p_effect, 'PutObject' = ANY (p_actions), 'GetObject' = ANY (p_actions),
    p_conditions, round(extract(epoch FROM p_not_before) * 1000), round(extract(epoch FROM p_not_after) * 1000), p_note
)::text, 'UTF8'));
