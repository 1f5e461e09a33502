-- All rows that give a user something, and that offboard_principal removes: grants that allow, memberships, API keys,
-- tickets that a gateway may still accept, and uploads in parts that are not finished. The clock of a gateway may be 15
-- minutes behind, the most that SLUICE_CLOCK_MAX_DIFFERENCE allows. Grants that deny, and quotas, are not among the
-- rows: without them, grants to '*' or to groups that the user's tokens name would allow more than before.
--
--   p_principal  the user
-- Result: for each row its kind, its identifier as the audit has it, its revision (NULL for uploads), a mark that no
-- other state of a row has, the scopes that its removal touches, and its document for the audit, without secrets and
-- hashes. The document has the members of the one that other changes of the row write.
-- Locks: none. Callers: the gateway's role; offboard_principal, write_policy_log. Errors: none.
CREATE OR REPLACE FUNCTION offboarding_rows(p_principal text)
RETURNS TABLE (kind text, id text, revision uuid, mark text, scopes text[], document jsonb)
LANGUAGE sql STABLE
AS $$
    SELECT r.kind, r.id, r.revision, concat_ws(chr(31), r.kind, r.id, r.revision), r.scopes, r.document FROM (
        SELECT 'Grant', g.id::text, g.created_change, ARRAY[g.principal], grant_document(g)
        FROM grants g WHERE g.principal = p_principal AND g.effect = 'allow' AND g.removed_at IS NULL
        UNION ALL
        SELECT 'GroupMember', m.group_principal || chr(31) || m.member_principal, m.revision, ARRAY[m.member_principal],
            jsonb_build_object('group', m.group_principal, 'member', m.member_principal, 'createdAt', m.created_at)
        FROM group_members m WHERE m.member_principal = p_principal
        UNION ALL
        SELECT 'APIKey', k.id::text, k.revision,
            array_remove(ARRAY['apikey:' || k.prefix, 'apikey:' || k.previous_prefix], NULL), jsonb_build_object(
            'id', k.id, 'prefix', k.prefix, 'name', k.name, 'principal', k.principal, 'groups', k.groups,
            'roles', k.roles, 'adminScopes', k.admin_scopes, 'expiresAt', k.expires_at, 'createdAt', k.created_at,
            'previousPrefix', k.previous_prefix, 'previousExpiresAt', k.previous_expires_at)
        FROM api_keys k WHERE k.principal = p_principal
        UNION ALL
        SELECT 'Ticket', t.id::text, t.revision, ARRAY['ticket:' || t.name], jsonb_build_object(
            'id', t.id, 'name', t.name, 'principal', t.principal, 'groups', t.groups, 'bucket', t.bucket,
            'prefix', t.prefix, 'actions', t.actions, 'maxUses', t.max_uses, 'expiresAt', t.expires_at,
            'createdAt', t.created_at, 'encryptsResponses', t.sealed IS NOT NULL)
        FROM tickets t WHERE t.principal = p_principal AND t.expires_at > statement_timestamp() - interval '15 minutes'
        UNION ALL
        SELECT 'Upload', u.id::text, NULL, '{}', jsonb_build_object(
            'id', u.id, 'principal', u.principal, 'bucket', u.bucket, 'key', u.object_key, 'state', u.state,
            'expiresAt', u.expires_at, 'createdAt', u.created_at)
        FROM multipart_uploads u WHERE u.principal = p_principal AND u.state IN ('starting', 'open')
    ) AS r (kind, id, revision, scopes, document)
$$;
