-- A grant as the audit stores it, in the terms of the API.
--
--   g  a row of grants
-- Result: the document; NULL for a row of NULLs, as outer joins give them. Locks: none. Callers: the gateway's role;
-- offboarding_rows. Errors: none.
CREATE OR REPLACE FUNCTION grant_document(g grants) RETURNS jsonb
LANGUAGE sql STABLE
AS $$
    SELECT CASE WHEN (g).id IS NOT NULL THEN jsonb_build_object(
        'id', (g).id, 'principal', (g).principal, 'bucket', (g).bucket, 'prefix', (g).prefix,
        'isTemplate', (g).is_template, 'actions', (g).actions, 'effect', (g).effect, 'conditions', (g).conditions,
        'notBefore', (g).not_before, 'notAfter', (g).not_after, 'note', (g).note,
        'createdBy', (g).created_by, 'createdAt', (g).created_at
    ) END
$$;
