-- What changes of many grants at once need of the database.

-- Makes a UUID of version 7 (RFC 9562, section 5.7).
CREATE FUNCTION uuid_v7() RETURNS uuid
LANGUAGE sql VOLATILE
RETURN encode(
    -- Random bits with the time over the first 48; version 4 becomes 7 with two bits more.
    set_bit(set_bit(
        overlay(
            uuid_send(gen_random_uuid())
            PLACING substring(int8send((extract(epoch FROM clock_timestamp()) * 1000)::bigint) FROM 3) FROM 1 FOR 6
        ), 52, 1), 53, 1),
    'hex'
)::uuid;

-- What the audit holds of a grant; NULL where there is none.
CREATE FUNCTION grant_document(g grants) RETURNS jsonb
LANGUAGE sql STABLE
RETURN CASE WHEN (g).id IS NOT NULL THEN jsonb_build_object(
    'id', (g).id, 'principal', (g).principal, 'bucket', (g).bucket, 'prefix', (g).prefix, 'isTemplate', (g).is_template,
    'actions', (g).actions, 'effect', (g).effect, 'conditions', (g).conditions, 'notBefore', (g).not_before,
    'notAfter', (g).not_after, 'note', (g).note, 'createdBy', (g).created_by, 'createdAt', (g).created_at
) END;

-- What grants are for: the same for grants that differ in what they permit there.
CREATE FUNCTION grant_key(p_principal text, p_bucket text, p_prefix text, p_is_template boolean, p_effect text) RETURNS bytea
LANGUAGE sql STABLE
RETURN sha256(convert_to(ROW(p_principal, p_bucket, p_prefix, p_is_template, p_effect)::text, 'UTF8'));

-- Everything that is said of a grant; the same for grants that differ in identifier and origin only. Instants count to the
-- millisecond, as texts have them.
CREATE FUNCTION grant_fingerprint(
    p_principal text, p_bucket text, p_prefix text, p_is_template boolean, p_effect text, p_actions text[],
    p_conditions jsonb, p_not_before timestamptz, p_not_after timestamptz, p_note text
) RETURNS bytea
LANGUAGE sql STABLE
RETURN sha256(convert_to(ROW(
    p_principal, p_bucket, p_prefix, p_is_template, p_effect, p_actions, p_conditions,
    round(extract(epoch FROM p_not_before) * 1000), round(extract(epoch FROM p_not_after) * 1000), p_note
)::text, 'UTF8'));
