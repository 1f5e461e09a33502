-- Versions of the rows that admins change, and the history of grants by change instead of by number.
--
-- A change has an identifier from its first statement on: the tag that its line in the log will have. Rows of grants name it as
-- they are written, so that the exclusive lock is held for one line of the log, whatever the number of grants.

CREATE UNIQUE INDEX policy_log_tag_idx ON policy_log (tag);

CREATE TABLE policy_changes (
    id uuid NOT NULL,
    CONSTRAINT policy_changes_pkey PRIMARY KEY (id)
);

INSERT INTO policy_changes (id) SELECT l.tag FROM policy_log l;

-- The change that this transaction makes; begins one where there is none yet.
CREATE FUNCTION current_policy_change() RETURNS uuid
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    v_id uuid := nullif(current_setting('sluice.change', true), '');
BEGIN
    IF v_id IS NULL THEN
        v_id := gen_random_uuid();
        INSERT INTO policy_changes (id) VALUES (v_id);
        PERFORM set_config('sluice.change', v_id::text, true);
    END IF;
    RETURN v_id;
END
$$;

DROP TRIGGER grants_are_logged ON grants;
DROP FUNCTION refuse_unlogged_grant();
DROP FUNCTION append_policy_log(text[], text, text, uuid[], uuid[]);

-- Refuses to commit a change that no line of the log tells of.
CREATE FUNCTION refuse_unlogged_change() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM policy_log l WHERE l.tag = NEW.id) THEN
        RAISE EXCEPTION 'change % ends without append_policy_log', NEW.id
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NULL;
END
$$;

CREATE CONSTRAINT TRIGGER changes_are_logged AFTER INSERT ON policy_changes
DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse_unlogged_change();

-- Ends a change of policy: call it last, after all other writes of the transaction.
--
-- The exclusive lock waits for every recording that is under way, and every later recording sees the new line.
CREATE FUNCTION append_policy_log(p_scopes text[], p_actor text, p_request_id text) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET lock_timeout = '2s'
AS $$
DECLARE
    v_scopes text[] := CASE WHEN cardinality(p_scopes) > 1000 THEN '{all}' ELSE p_scopes END;
    v_change uuid := current_policy_change();
    v_seq bigint;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'a change of policy needs read committed' USING ERRCODE = 'invalid_transaction_state';
    END IF;
    -- A statement of its own: the next one must see what was committed while this one waited.
    PERFORM pg_advisory_xact_lock(7310868744);
    INSERT INTO policy_log (seq, tag, scopes, actor, request_id)
    SELECT max(l.seq) + 1, v_change, v_scopes, p_actor, p_request_id FROM policy_log l
    RETURNING seq INTO STRICT v_seq;
    PERFORM set_config('sluice.change', '', true);
    PERFORM pg_notify('sluice_policy', v_seq::text);
    RETURN v_seq;
END
$$;

-- A changed grant is a further row of the same identifier; at most one of them is live. created_change is its version.
ALTER TABLE grants
    ADD COLUMN created_change uuid,
    ADD COLUMN removed_change uuid;
UPDATE grants g SET created_change = l.tag FROM policy_log l WHERE l.seq = g.created_seq;
UPDATE grants g SET removed_change = l.tag FROM policy_log l WHERE l.seq = g.removed_seq;
ALTER TABLE grants
    ALTER COLUMN created_change SET NOT NULL,
    ALTER COLUMN created_change SET DEFAULT current_policy_change(),
    DROP CONSTRAINT grants_removal_check,
    DROP COLUMN created_seq,
    DROP COLUMN removed_seq,
    DROP CONSTRAINT grants_pkey,
    ADD CONSTRAINT grants_pkey PRIMARY KEY (id, created_change),
    ADD CONSTRAINT grants_created_change_fkey FOREIGN KEY (created_change) REFERENCES policy_changes (id),
    ADD CONSTRAINT grants_removed_change_fkey FOREIGN KEY (removed_change) REFERENCES policy_changes (id),
    ADD CONSTRAINT grants_removal_check CHECK (num_nulls(removed_change, removed_at, removed_by) IN (0, 3));
CREATE UNIQUE INDEX grants_live_id_idx ON grants (id) WHERE removed_at IS NULL;

-- Every version of every grant, with the numbers in the log from which and before which it was in force.
CREATE VIEW grant_history AS
SELECT g.id, g.principal, g.bucket, g.prefix, g.is_template, g.actions, g.effect, g.conditions, g.not_before, g.not_after,
    g.note, g.created_by, g.created_at, g.created_change, c.seq AS created_seq, g.removed_change, r.seq AS removed_seq,
    g.removed_at, g.removed_by
FROM grants g
JOIN policy_log c ON c.tag = g.created_change
LEFT JOIN policy_log r ON r.tag = g.removed_change;

-- A new one with each change; what clients get as ETag.
ALTER TABLE buckets ADD COLUMN revision uuid NOT NULL DEFAULT gen_random_uuid();
ALTER TABLE group_members ADD COLUMN revision uuid NOT NULL DEFAULT gen_random_uuid();
ALTER TABLE quotas ADD COLUMN revision uuid NOT NULL DEFAULT gen_random_uuid();
ALTER TABLE issuers ADD COLUMN revision uuid NOT NULL DEFAULT gen_random_uuid();
ALTER TABLE api_keys ADD COLUMN revision uuid NOT NULL DEFAULT gen_random_uuid();
ALTER TABLE tickets ADD COLUMN revision uuid NOT NULL DEFAULT gen_random_uuid();
ALTER TABLE storage_credentials
    ADD COLUMN revision uuid NOT NULL DEFAULT gen_random_uuid(),
    -- The key before the present one, and until when URLs may live that it signed.
    ADD COLUMN previous_access_key_id text,
    ADD COLUMN previous_needed_until timestamptz,
    ADD CONSTRAINT storage_credentials_previous_check CHECK (
        (previous_access_key_id IS NULL) = (previous_needed_until IS NULL)
    );

ALTER TABLE admin_audit
    DROP CONSTRAINT admin_audit_operation_check,
    ADD CONSTRAINT admin_audit_operation_check CHECK (operation IN ('create', 'update', 'delete', 'reset', 'import'));

-- As before, and for the new table and columns.
CREATE OR REPLACE FUNCTION grant_to_gateway(p_role name) RETURNS boolean
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
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
    -- Functions are open to everybody until told otherwise.
    REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA public FROM PUBLIC;
    EXECUTE format('GRANT USAGE ON SCHEMA public TO %I', p_role);
    EXECUTE format('GRANT SELECT ON ALL TABLES IN SCHEMA public TO %I', p_role);
    EXECUTE format(
        'GRANT INSERT ON policy_changes, policy_log, storage_credentials, buckets, grants, group_members, quotas, issuers, '
            'api_keys, admin_audit, issuances, quota_usage, reservations, denials, tickets, '
            'multipart_uploads, multipart_parts TO %I', p_role
    );
    EXECUTE format(
        'GRANT DELETE ON storage_credentials, buckets, group_members, quotas, issuers, api_keys, reservations, '
            'tickets, multipart_parts TO %I', p_role
    );
    EXECUTE format('GRANT UPDATE ON storage_credentials, buckets, issuers, api_keys TO %I', p_role);
    EXECUTE format('GRANT UPDATE (sealed, key_id) ON tickets TO %I', p_role);
    EXECUTE format('GRANT UPDATE (removed_change, removed_at, removed_by) ON grants TO %I', p_role);
    EXECUTE format('GRANT UPDATE (used, released) ON quota_usage TO %I', p_role);
    -- A quota's other columns fix what its counters mean.
    EXECUTE format('GRANT UPDATE (quota_limit, revision) ON quotas TO %I', p_role);
    EXECUTE format('GRANT UPDATE (check_at) ON reservations TO %I', p_role);
    EXECUTE format('GRANT UPDATE (count) ON denials TO %I', p_role);
    EXECUTE format(
        'GRANT UPDATE (state, store_upload_id, part_numbers, part_etags, etag, check_at) ON multipart_uploads TO %I', p_role
    );
    EXECUTE format('GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA public TO %I', p_role);
    EXECUTE format('REVOKE EXECUTE ON FUNCTION grant_to_gateway(name), create_issuances_partition(date) FROM %I', p_role);
    RETURN true;
END
$$;
