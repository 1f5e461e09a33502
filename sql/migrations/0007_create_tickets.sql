-- Tickets: credentials that fit into a URL, made by users for clients that can send no header.
--
-- Their making is no change of policy: nothing was decided on a ticket before it existed, and its name cannot be guessed. Their
-- end is one. Uses are counted as those of a quota of the same identifier, in quota_usage.
CREATE TABLE tickets (
    id uuid NOT NULL,
    name text COLLATE "C" NOT NULL,
    -- SHA-256 of the ticket; the ticket itself is nowhere.
    hash bytea NOT NULL,
    principal text COLLATE "C" NOT NULL,
    groups text[] NOT NULL,
    claims jsonb NOT NULL,
    -- The scope of the row that vouched for the maker; NULL for the operator's own key.
    issued_on text COLLATE "C",
    bucket text COLLATE "C" NOT NULL,
    prefix text COLLATE "C" NOT NULL,
    actions text[] NOT NULL,
    max_uses bigint NOT NULL,
    expires_at timestamptz NOT NULL,
    -- What answers are encrypted with, sealed with the master key that key_id names; NULL where they are not.
    sealed bytea,
    key_id text,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT tickets_pkey PRIMARY KEY (id),
    CONSTRAINT tickets_name_key UNIQUE (name),
    CONSTRAINT tickets_hash_check CHECK (octet_length(hash) = 32),
    CONSTRAINT tickets_actions_check CHECK (cardinality(actions) > 0 AND actions <@ '{PutObject,GetObject}'),
    CONSTRAINT tickets_max_uses_check CHECK (max_uses > 0),
    CONSTRAINT tickets_sealed_check CHECK ((sealed IS NULL) = (key_id IS NULL))
);

CREATE INDEX tickets_principal_idx ON tickets (principal, id);
CREATE INDEX tickets_expires_at_idx ON tickets (expires_at);

-- Deletes counters of periods that ended long ago or whose quota or ticket is gone, tickets that ended a day ago, and old
-- counts of refusals; answers how many.
CREATE OR REPLACE FUNCTION prune_counters(p_keep_denials_days integer, p_most integer) RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = public, pg_temp
AS $$
DECLARE
    v_usage integer;
    v_tickets integer;
    v_denials integer;
BEGIN
    DELETE FROM tickets t
    WHERE t.id = ANY (ARRAY(
        SELECT o.id FROM tickets o
        WHERE o.expires_at < clock_timestamp() - interval '1 day'
        LIMIT p_most
        FOR UPDATE SKIP LOCKED
    ));
    GET DIAGNOSTICS v_tickets = ROW_COUNT;
    -- A recording of the period's last instant may still be under way, hence the hour.
    DELETE FROM quota_usage u
    USING (
        SELECT o.quota_id, o.holder, o.period_start
        FROM quota_usage o
        LEFT JOIN quotas q ON q.id = o.quota_id
        WHERE (q.id IS NULL AND NOT EXISTS (SELECT FROM tickets t WHERE t.id = o.quota_id))
            OR quota_period_end(q.period, o.period_start) < clock_timestamp() - interval '1 hour'
        LIMIT p_most
        FOR UPDATE OF o SKIP LOCKED
    ) old
    WHERE u.quota_id = old.quota_id AND u.holder = old.holder AND u.period_start = old.period_start;
    GET DIAGNOSTICS v_usage = ROW_COUNT;
    DELETE FROM denials d
    WHERE d.ctid = ANY (ARRAY(
        SELECT o.ctid FROM denials o
        WHERE o.minute < clock_timestamp() - make_interval(days => greatest(p_keep_denials_days, 1))
        LIMIT p_most
        FOR UPDATE SKIP LOCKED
    ));
    GET DIAGNOSTICS v_denials = ROW_COUNT;
    RETURN v_usage + v_tickets + v_denials;
END
$$;

-- As before, and for the new table.
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
        'GRANT INSERT ON policy_log, storage_credentials, buckets, grants, group_members, quotas, issuers, api_keys, '
            'admin_audit, issuances, quota_usage, reservations, denials, tickets TO %I', p_role
    );
    EXECUTE format(
        'GRANT DELETE ON storage_credentials, buckets, group_members, quotas, issuers, api_keys, reservations, '
            'tickets TO %I', p_role
    );
    EXECUTE format('GRANT UPDATE ON storage_credentials, buckets, issuers, api_keys TO %I', p_role);
    EXECUTE format('GRANT UPDATE (sealed, key_id) ON tickets TO %I', p_role);
    EXECUTE format('GRANT UPDATE (created_seq, removed_seq, removed_at, removed_by) ON grants TO %I', p_role);
    EXECUTE format('GRANT UPDATE (used, released) ON quota_usage TO %I', p_role);
    -- A quota's other columns fix what its counters mean.
    EXECUTE format('GRANT UPDATE (quota_limit) ON quotas TO %I', p_role);
    EXECUTE format('GRANT UPDATE (check_at) ON reservations TO %I', p_role);
    EXECUTE format('GRANT UPDATE (count) ON denials TO %I', p_role);
    EXECUTE format('GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA public TO %I', p_role);
    EXECUTE format('REVOKE EXECUTE ON FUNCTION grant_to_gateway(name), create_issuances_partition(date) FROM %I', p_role);
    RETURN true;
END
$$;
