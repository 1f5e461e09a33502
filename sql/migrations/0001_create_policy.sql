-- Policy: everything that a decision rests on, and the log of its changes.
--
-- Texts that compare by their bytes are COLLATE "C". Identifiers are UUIDv7, made by the gateway.

CREATE TABLE policy_log (
    seq bigint NOT NULL,
    -- After a failover a number may come again; a tag does not.
    tag uuid NOT NULL DEFAULT gen_random_uuid(),
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    scopes text[] COLLATE "C" NOT NULL,
    actor text NOT NULL,
    request_id text NOT NULL,
    CONSTRAINT policy_log_pkey PRIMARY KEY (seq),
    CONSTRAINT policy_log_seq_check CHECK (seq > 0),
    CONSTRAINT policy_log_scopes_check CHECK (cardinality(scopes) BETWEEN 1 AND 1000)
);

INSERT INTO policy_log (seq, scopes, actor, request_id) VALUES (1, '{all}', 'migration', '');

CREATE TABLE storage_credentials (
    id uuid NOT NULL,
    name text COLLATE "C" NOT NULL,
    access_key_id text NOT NULL,
    -- Secret and session token, as JSON, sealed with the master key that key_id names.
    sealed bytea NOT NULL,
    key_id text NOT NULL,
    expires_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT storage_credentials_pkey PRIMARY KEY (id),
    CONSTRAINT storage_credentials_name_key UNIQUE (name)
);

CREATE TABLE buckets (
    name text COLLATE "C" NOT NULL,
    provider text NOT NULL,
    endpoint text NOT NULL,
    region text NOT NULL,
    addressing text NOT NULL,
    scheme text NOT NULL,
    credential_id uuid NOT NULL,
    default_ttl integer NOT NULL,
    max_ttl integer NOT NULL,
    allows_unenforced_size boolean NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT buckets_pkey PRIMARY KEY (name),
    CONSTRAINT buckets_credential_id_fkey FOREIGN KEY (credential_id) REFERENCES storage_credentials (id),
    CONSTRAINT buckets_provider_check CHECK (provider IN ('aws', 's3')),
    CONSTRAINT buckets_addressing_check CHECK (addressing IN ('virtual', 'path', 'cname')),
    CONSTRAINT buckets_scheme_check CHECK (scheme IN ('aws-v4')),
    CONSTRAINT buckets_ttl_check CHECK (default_ttl BETWEEN 1 AND max_ttl AND max_ttl <= 604800)
);

CREATE INDEX buckets_credential_id_idx ON buckets (credential_id);

CREATE TABLE grants (
    id uuid NOT NULL,
    principal text COLLATE "C" NOT NULL,
    bucket text COLLATE "C" NOT NULL,
    prefix text COLLATE "C" NOT NULL,
    is_template boolean NOT NULL,
    actions text[] NOT NULL,
    effect text NOT NULL,
    conditions jsonb NOT NULL DEFAULT '{}',
    not_before timestamptz,
    not_after timestamptz,
    note text NOT NULL DEFAULT '',
    created_by text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- The change that made the row and the one that ended it; stamped by append_policy_log. A removed row stays, for history.
    created_seq bigint,
    removed_seq bigint,
    removed_at timestamptz,
    removed_by text,
    CONSTRAINT grants_pkey PRIMARY KEY (id),
    CONSTRAINT grants_bucket_fkey FOREIGN KEY (bucket) REFERENCES buckets (name),
    CONSTRAINT grants_actions_check CHECK (cardinality(actions) > 0 AND actions <@ '{PutObject,GetObject}'),
    CONSTRAINT grants_effect_check CHECK (effect IN ('allow', 'deny')),
    CONSTRAINT grants_validity_check CHECK (not_before < not_after),
    CONSTRAINT grants_removal_check CHECK (
        (removed_at IS NULL) = (removed_by IS NULL) AND (removed_seq IS NULL OR removed_at IS NOT NULL)
    )
);

-- What may this principal do; also the lookup of one key's candidates.
CREATE INDEX grants_principal_bucket_prefix_idx ON grants (principal, bucket, prefix) WHERE removed_at IS NULL;
-- Who may reach this prefix.
CREATE INDEX grants_bucket_prefix_principal_idx ON grants (bucket, prefix, principal) WHERE removed_at IS NULL;

CREATE TABLE group_members (
    group_principal text COLLATE "C" NOT NULL,
    member_principal text COLLATE "C" NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT group_members_pkey PRIMARY KEY (group_principal, member_principal),
    CONSTRAINT group_members_kinds_check CHECK (group_principal LIKE 'group:%' AND member_principal LIKE 'user:%')
);

CREATE INDEX group_members_member_principal_idx ON group_members (member_principal);

CREATE TABLE quotas (
    id uuid NOT NULL,
    principal text COLLATE "C" NOT NULL,
    bucket text COLLATE "C",
    action text,
    metric text NOT NULL,
    period text NOT NULL,
    sharing text NOT NULL,
    quota_limit bigint NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT quotas_pkey PRIMARY KEY (id),
    CONSTRAINT quotas_bucket_fkey FOREIGN KEY (bucket) REFERENCES buckets (name),
    CONSTRAINT quotas_action_check CHECK (action IN ('PutObject', 'GetObject')),
    CONSTRAINT quotas_metric_check CHECK (metric IN ('urls', 'bytes')),
    CONSTRAINT quotas_bytes_action_check CHECK (metric = 'urls' OR action IS NOT DISTINCT FROM 'PutObject'),
    CONSTRAINT quotas_period_check CHECK (period IN ('minute', 'hour', 'day', 'month', 'total')),
    CONSTRAINT quotas_sharing_check CHECK (sharing IN ('each', 'shared')),
    CONSTRAINT quotas_limit_check CHECK (quota_limit >= 0)
);

CREATE INDEX quotas_principal_idx ON quotas (principal);
CREATE INDEX quotas_bucket_idx ON quotas (bucket);

CREATE TABLE issuers (
    id uuid NOT NULL,
    issuer text COLLATE "C" NOT NULL,
    audiences text[] NOT NULL,
    algorithms text[] NOT NULL,
    -- Exactly one of the three: a URL of a JWK set, a JWK set, or a sealed secret.
    keys_url text,
    keys_inline text,
    keys_sealed bytea,
    key_id text,
    principal_prefix text COLLATE "C" NOT NULL,
    group_prefix text COLLATE "C" NOT NULL,
    subject_claim text NOT NULL,
    groups_claim text,
    usable_claims text[] NOT NULL,
    roles_claim text,
    may_confer_roles text[] NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT issuers_pkey PRIMARY KEY (id),
    CONSTRAINT issuers_issuer_key UNIQUE (issuer),
    CONSTRAINT issuers_principal_prefix_key UNIQUE (principal_prefix),
    CONSTRAINT issuers_group_prefix_key UNIQUE (group_prefix),
    CONSTRAINT issuers_keys_check CHECK (
        num_nonnulls(keys_url, keys_inline, keys_sealed) = 1 AND (keys_sealed IS NULL) = (key_id IS NULL)
    ),
    CONSTRAINT issuers_lists_check CHECK (cardinality(audiences) > 0 AND cardinality(algorithms) > 0),
    CONSTRAINT issuers_roles_check CHECK (may_confer_roles <@ '{admin,auditor}')
);

CREATE TABLE api_keys (
    id uuid NOT NULL,
    prefix text COLLATE "C" NOT NULL,
    -- SHA-256 of the key; the key itself is nowhere.
    hash bytea NOT NULL,
    name text NOT NULL,
    principal text COLLATE "C" NOT NULL,
    groups text[] NOT NULL,
    roles text[] NOT NULL,
    expires_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT api_keys_pkey PRIMARY KEY (id),
    CONSTRAINT api_keys_prefix_key UNIQUE (prefix),
    CONSTRAINT api_keys_hash_check CHECK (octet_length(hash) = 32),
    CONSTRAINT api_keys_roles_check CHECK (roles <@ '{admin,auditor}')
);

CREATE TABLE admin_audit (
    id uuid NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    actor text NOT NULL,
    request_id text NOT NULL,
    operation text NOT NULL,
    kind text NOT NULL,
    resource_id text COLLATE "C" NOT NULL,
    before jsonb,
    after jsonb,
    CONSTRAINT admin_audit_pkey PRIMARY KEY (id),
    CONSTRAINT admin_audit_operation_check CHECK (operation IN ('create', 'update', 'delete'))
);

CREATE INDEX admin_audit_kind_resource_id_idx ON admin_audit (kind, resource_id, id);

-- Ends a change of policy: call it last, after all other writes of the transaction.
--
-- The exclusive lock waits for every recording that is under way, and every later recording sees the new line. Rows named in
-- p_created and p_removed belong to this transaction already, so that stamping them waits for nobody.
CREATE FUNCTION append_policy_log(
    p_scopes text[], p_actor text, p_request_id text, p_created uuid[] DEFAULT '{}', p_removed uuid[] DEFAULT '{}'
) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET lock_timeout = '2s'
AS $$
DECLARE
    v_scopes text[] := CASE WHEN cardinality(p_scopes) > 1000 THEN '{all}' ELSE p_scopes END;
    v_seq bigint;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'a change of policy needs read committed' USING ERRCODE = 'invalid_transaction_state';
    END IF;
    -- A statement of its own: the next one must see what was committed while this one waited.
    PERFORM pg_advisory_xact_lock(7310868744);
    INSERT INTO policy_log (seq, scopes, actor, request_id)
    SELECT max(l.seq) + 1, v_scopes, p_actor, p_request_id FROM policy_log l
    RETURNING seq INTO STRICT v_seq;
    IF cardinality(p_created) > 0 THEN
        UPDATE grants SET created_seq = v_seq WHERE id = ANY (p_created);
    END IF;
    IF cardinality(p_removed) > 0 THEN
        UPDATE grants SET removed_seq = v_seq WHERE id = ANY (p_removed);
    END IF;
    PERFORM pg_notify('sluice_policy', v_seq::text);
    RETURN v_seq;
END
$$;

-- Refuses to commit a grant, or the removal of one, that no line of the log tells of.
CREATE FUNCTION refuse_unlogged_grant() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    IF EXISTS (
        SELECT FROM grants g
        WHERE g.id = NEW.id AND (g.created_seq IS NULL OR (g.removed_at IS NOT NULL AND g.removed_seq IS NULL))
    ) THEN
        RAISE EXCEPTION 'grant % changed without append_policy_log', NEW.id USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NULL;
END
$$;

CREATE CONSTRAINT TRIGGER grants_are_logged AFTER INSERT OR UPDATE ON grants
DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
WHEN (NEW.created_seq IS NULL OR (NEW.removed_at IS NOT NULL AND NEW.removed_seq IS NULL))
EXECUTE FUNCTION refuse_unlogged_grant();
