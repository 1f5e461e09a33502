-- Gives the group role of the gateway's logins the rights that the gateway needs, and no others.
--
-- The role reads everything, changes policy, and adds to the logs: policy_log, issuances and admin_audit. It can alter
-- no table, and can change or delete no row of these three. What needs more runs with the owner's rights, in functions.
-- 'sluice migrate' calls this at the end of each run, since a function that was created again has lost its rights. What
-- the role had before, such as rights that only an older version gave it, is taken back in the same transaction. So a
-- right that gateways of the version before still use stays in this list.
--
--   p_role  the role; it is created if the caller may create roles
-- Result: false where there is no such role and none could be created, else true.
-- Locks: none. Callers: the owner of the schema. Errors: none.
CREATE OR REPLACE FUNCTION grant_to_gateway(p_role name) RETURNS boolean
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    -- What Sluice has made. Extensions and admins may have put more into the schema.
    v_functions text := (
        SELECT string_agg(p.oid::regprocedure::text, ', ') FROM pg_proc p
        WHERE p.pronamespace = 'public'::regnamespace AND p.prokind = 'f' AND pg_get_userbyid(p.proowner) = current_user
            AND NOT EXISTS (
                SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
            )
    );
    v_tables text := (
        SELECT string_agg(c.oid::regclass::text, ', ') FROM pg_class c
        WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'v')
            AND pg_get_userbyid(c.relowner) = current_user
            AND NOT EXISTS (
                SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e'
            )
    );
BEGIN
    -- PostgreSQL lets everybody execute a new function, also where there is no role to give it to.
    EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', v_functions);
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = p_role) THEN
        BEGIN
            EXECUTE format('CREATE ROLE %I NOLOGIN', p_role);
        EXCEPTION
            WHEN duplicate_object OR unique_violation THEN
                -- Another database of the cluster is being migrated.
                NULL;
            WHEN insufficient_privilege THEN
                RETURN false;
        END;
    END IF;
    EXECUTE format('REVOKE ALL ON SCHEMA public FROM %I', p_role);
    EXECUTE format('REVOKE ALL ON %s FROM %I', v_tables, p_role);
    EXECUTE format('REVOKE ALL ON FUNCTION %s FROM %I', v_functions, p_role);
    EXECUTE format('GRANT USAGE ON SCHEMA public TO %I', p_role);
    EXECUTE format('GRANT SELECT ON %s TO %I', v_tables, p_role);

    -- Policy.
    EXECUTE format('GRANT INSERT ON policy_changes, policy_log TO %I', p_role);
    EXECUTE format(
        'GRANT INSERT, UPDATE, DELETE ON storage_credentials, buckets, issuers, api_keys, event_secrets TO %I', p_role
    );
    EXECUTE format('GRANT INSERT, DELETE ON group_members TO %I', p_role);
    EXECUTE format('GRANT INSERT, UPDATE (removed_change, removed_at, removed_by) ON grants TO %I', p_role);
    -- The other columns of a quota fix what its counters mean.
    EXECUTE format('GRANT INSERT, UPDATE (quota_limit, revision), DELETE ON quotas TO %I', p_role);
    EXECUTE format('GRANT INSERT, UPDATE (sealed, key_id), DELETE ON tickets TO %I', p_role);
    EXECUTE format('GRANT INSERT, UPDATE ON ticket_revocations TO %I', p_role);

    -- The ledger.
    EXECUTE format('GRANT INSERT ON issuances, deletions, admin_audit TO %I', p_role);
    EXECUTE format('GRANT INSERT, UPDATE (used, released) ON quota_usage TO %I', p_role);
    EXECUTE format('GRANT INSERT, UPDATE (check_at), DELETE ON reservations TO %I', p_role);
    EXECUTE format('GRANT INSERT, UPDATE (count) ON denials TO %I', p_role);
    EXECUTE format('GRANT INSERT, UPDATE, DELETE ON idempotency_keys TO %I', p_role);

    -- Uploads.
    EXECUTE format('GRANT INSERT, UPDATE ON landings TO %I', p_role);
    EXECUTE format('GRANT INSERT ON store_events TO %I', p_role);
    EXECUTE format(
        'GRANT INSERT, UPDATE (state, store_upload_id, part_numbers, part_etags, etag, check_at, parts_length, '
            'parts_of_unknown_length, may_be_complete) ON multipart_uploads TO %I', p_role
    );
    EXECUTE format('GRANT INSERT, DELETE ON multipart_parts TO %I', p_role);

    EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %I', v_functions, p_role);
    EXECUTE format(
        'REVOKE EXECUTE ON FUNCTION grant_to_gateway(name), create_issuances_partition(date) FROM %I', p_role
    );
    RETURN true;
END
$$;
