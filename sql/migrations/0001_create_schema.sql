-- Kind: expand
--
-- The tables of a gateway, with their indexes and views.
--
-- Texts that compare by their bytes are COLLATE "C". Identifiers are UUIDs of version 7 made by the gateway, unless a
-- comment says otherwise. Times are timestamptz. A column named key_id names the master key that sealed the column
-- beside it; "revision" is a new UUID with each change of a row, and is the ETag of the API.
--
-- Functions lie in sql/functions and are created after the tables. Three are created here, since a default, a view and
-- an index call them: current_policy_change, uuid_instant and leading_segments. Triggers are created with their
-- functions.

-- Functions that tables call ------------------------------------------------------------------------------------------

-- The change of policy that this transaction makes; the first call begins one.
--
-- Result: its identifier, which becomes the tag of its line in policy_log. Locks: none.
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

-- The time in a UUID of version 7: when the gateway made it, by its clock.
CREATE FUNCTION uuid_instant(p_id uuid) RETURNS timestamptz
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN to_timestamp(('x' || left(replace(p_id::text, '-', ''), 12))::bit(48)::bigint / 1000.0);

-- The first two segments of a key, by which an index finds the keys below a prefix of two segments or more.
CREATE FUNCTION leading_segments(p_key text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN split_part(p_key, '/', 1) || '/' || split_part(p_key, '/', 2);

-- The policy log ------------------------------------------------------------------------------------------------------

CREATE TABLE policy_log (
    seq bigint NOT NULL,
    tag uuid NOT NULL DEFAULT gen_random_uuid(),
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    scopes text[] COLLATE "C" NOT NULL,
    actor text NOT NULL,
    request_id text NOT NULL,
    CONSTRAINT policy_log_pkey PRIMARY KEY (seq),
    CONSTRAINT policy_log_seq_check CHECK (seq > 0),
    CONSTRAINT policy_log_scopes_check CHECK (cardinality(scopes) BETWEEN 1 AND 1000)
);
CREATE UNIQUE INDEX policy_log_tag_idx ON policy_log (tag);

COMMENT ON TABLE policy_log IS
    'One line for each change of policy. A decision is proved by the lines after the one that it rests on.';
COMMENT ON COLUMN policy_log.seq IS 'Number of the line: the highest one before it plus 1, without gaps.';
COMMENT ON COLUMN policy_log.tag IS
    'Identifier of the change. After a failover a number may be used again; a tag is not.';
COMMENT ON COLUMN policy_log.scopes IS
    'What the change touches: *, user:…, group:…, bucket:…, credential:…, issuer:…, apikey:…, ticket:…; where it is too '
    'much for the line, also all, buckets and callers.';
COMMENT ON COLUMN policy_log.request_id IS 'The request that asked for the change; empty where none did.';

CREATE TABLE policy_changes (
    id uuid NOT NULL,
    CONSTRAINT policy_changes_pkey PRIMARY KEY (id)
);

COMMENT ON TABLE policy_changes IS
    'Changes of policy, from their first statement on; rows of policy refer to them. The line in policy_log follows at '
    'COMMIT.';
COMMENT ON COLUMN policy_changes.id IS 'The tag of the line in policy_log. Random.';

CREATE TABLE past_changes (
    tag uuid NOT NULL,
    seq bigint NOT NULL,
    at timestamptz NOT NULL,
    CONSTRAINT past_changes_pkey PRIMARY KEY (tag)
);
CREATE INDEX past_changes_seq_idx ON past_changes (seq);

COMMENT ON TABLE past_changes IS
    'What is kept of lines that were pruned from policy_log, where the history of grants, memberships or credentials '
    'refers to them.';

CREATE VIEW policy_moments AS
SELECT l.seq, l.tag, l.at FROM policy_log l
UNION ALL
SELECT c.seq, c.tag, c.at FROM past_changes c;

COMMENT ON VIEW policy_moments IS
    'When policy changed: the lines of policy_log, and those pruned lines that history refers to.';

-- Where objects are stored --------------------------------------------------------------------------------------------

CREATE TABLE storage_credentials (
    id uuid NOT NULL,
    name text COLLATE "C" NOT NULL,
    kind text NOT NULL DEFAULT 'access-key',
    access_key_id text NOT NULL,
    sealed bytea NOT NULL,
    key_id text NOT NULL,
    session_role jsonb,
    expires_at timestamptz,
    previous_access_key_id text,
    previous_needed_until timestamptz,
    rotated_change uuid,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    revision uuid NOT NULL DEFAULT gen_random_uuid(),
    CONSTRAINT storage_credentials_pkey PRIMARY KEY (id),
    CONSTRAINT storage_credentials_name_key UNIQUE (name),
    CONSTRAINT storage_credentials_id_kind_key UNIQUE (id, kind),
    CONSTRAINT storage_credentials_rotated_change_fkey FOREIGN KEY (rotated_change) REFERENCES policy_changes (id),
    CONSTRAINT storage_credentials_kind_check CHECK (kind IN ('access-key', 'service-account')),
    CONSTRAINT storage_credentials_previous_check CHECK (
        (previous_access_key_id IS NULL) = (previous_needed_until IS NULL)
    )
);
CREATE INDEX storage_credentials_rotated_change_idx ON storage_credentials (rotated_change)
WHERE rotated_change IS NOT NULL;

COMMENT ON TABLE storage_credentials IS 'Credentials of object stores, which sign what the gateway issues.';
COMMENT ON COLUMN storage_credentials.sealed IS 'Secret and session token as JSON, sealed with the master key.';
COMMENT ON COLUMN storage_credentials.session_role IS
    'The role that the credential assumes for sessions; NULL where it opens none.';
COMMENT ON COLUMN storage_credentials.previous_access_key_id IS
    'The access key before the present one; of a service account its address, which both keys may have.';
COMMENT ON COLUMN storage_credentials.previous_needed_until IS
    'Until when, at most, links may live that the previous key signed.';
COMMENT ON COLUMN storage_credentials.rotated_change IS
    'The change that replaced the previous key: decisions before it were signed with that key.';

CREATE TABLE buckets (
    name text COLLATE "C" NOT NULL,
    provider text NOT NULL,
    endpoint text NOT NULL,
    region text NOT NULL,
    addressing text NOT NULL,
    scheme text NOT NULL,
    credential_id uuid NOT NULL,
    credential_kind text NOT NULL GENERATED ALWAYS AS (
        CASE WHEN scheme IN ('gcs-v4-rsa', 'gcs-v2-rsa') THEN 'service-account' ELSE 'access-key' END
    ) STORED,
    default_ttl integer NOT NULL,
    max_ttl integer NOT NULL,
    max_session_ttl integer NOT NULL DEFAULT 43200,
    allows_unenforced_size boolean NOT NULL,
    allows_redirects boolean NOT NULL DEFAULT false,
    allowed_origins text[] NOT NULL DEFAULT '{}',
    honours_unsigned_headers boolean NOT NULL DEFAULT false,
    external_deletions boolean NOT NULL DEFAULT false,
    permits_symlinks boolean NOT NULL DEFAULT false,
    callback text,
    callback_var text,
    encryption jsonb,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    revision uuid NOT NULL DEFAULT gen_random_uuid(),
    CONSTRAINT buckets_pkey PRIMARY KEY (name),
    CONSTRAINT buckets_credential_id_fkey FOREIGN KEY (credential_id) REFERENCES storage_credentials (id),
    CONSTRAINT buckets_credential_kind_fkey
        FOREIGN KEY (credential_id, credential_kind) REFERENCES storage_credentials (id, kind),
    CONSTRAINT buckets_provider_check CHECK (provider IN ('aws', 's3', 'oss', 'gcs')),
    CONSTRAINT buckets_addressing_check CHECK (addressing IN ('virtual', 'path', 'cname')),
    CONSTRAINT buckets_scheme_check CHECK (
        scheme IN ('aws-v4', 'aws-v2', 'oss-v4', 'oss-v1', 'gcs-v4-rsa', 'gcs-v4-hmac', 'gcs-v2-rsa')
    ),
    CONSTRAINT buckets_ttl_check CHECK (default_ttl BETWEEN 1 AND max_ttl AND max_ttl <= 604800),
    -- No security token service opens a session for less than 900 seconds.
    CONSTRAINT buckets_session_ttl_check CHECK (max_session_ttl = 0 OR max_session_ttl BETWEEN 900 AND 43200),
    CONSTRAINT buckets_callback_check CHECK (
        (provider = 'oss' OR callback IS NULL) AND (callback IS NOT NULL OR callback_var IS NULL)
    ),
    CONSTRAINT buckets_encryption_check CHECK (provider <> 'gcs' OR encryption IS NULL)
);
CREATE INDEX buckets_credential_id_idx ON buckets (credential_id);

COMMENT ON TABLE buckets IS 'Buckets that links are issued for, and how they are signed.';
COMMENT ON COLUMN buckets.addressing IS
    'Where the bucket''s name stands: in the host (virtual), in the path, or nowhere (cname).';
COMMENT ON COLUMN buckets.credential_kind IS
    'The kind of credential that the scheme signs with; a foreign key makes sure that the credential is of it.';
COMMENT ON COLUMN buckets.default_ttl IS 'Life of a link in seconds where the request names none.';
COMMENT ON COLUMN buckets.max_ttl IS 'Longest life of a link in seconds.';
COMMENT ON COLUMN buckets.max_session_ttl IS 'Longest life of a session in seconds; 0 where there are none.';
COMMENT ON COLUMN buckets.allows_unenforced_size IS
    'Whether uploads are allowed whose size the store does not enforce.';
COMMENT ON COLUMN buckets.allowed_origins IS 'Origins of web pages that use links to the bucket.';
COMMENT ON COLUMN buckets.honours_unsigned_headers IS
    'Whether the store obeys headers of its own that a signature does not list.';
COMMENT ON COLUMN buckets.external_deletions IS 'Whether others than the gateway delete objects there.';
COMMENT ON COLUMN buckets.permits_symlinks IS
    'Whether sessions upload to OSS, where they may make symbolic links to any object of the bucket.';
COMMENT ON COLUMN buckets.callback IS
    'What OSS calls when an upload by a link is complete: base64 of JSON.';
COMMENT ON COLUMN buckets.callback_var IS 'The variables of that call: base64 of JSON.';
COMMENT ON COLUMN buckets.encryption IS
    'The encryption that uploads request of the store, as the API writes it; NULL where they request none.';

CREATE TABLE event_secrets (
    bucket text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    hash bytea NOT NULL,
    previous_name text COLLATE "C",
    previous_hash bytea,
    previous_until timestamptz,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT event_secrets_pkey PRIMARY KEY (bucket),
    CONSTRAINT event_secrets_name_key UNIQUE (name),
    CONSTRAINT event_secrets_previous_name_key UNIQUE (previous_name),
    CONSTRAINT event_secrets_bucket_fkey FOREIGN KEY (bucket) REFERENCES buckets (name) ON DELETE CASCADE,
    CONSTRAINT event_secrets_hash_check CHECK (octet_length(hash) = 32 AND octet_length(previous_hash) = 32),
    CONSTRAINT event_secrets_previous_check CHECK (num_nulls(previous_name, previous_hash, previous_until) IN (0, 3))
);

COMMENT ON TABLE event_secrets IS 'What stores authenticate with when they report on a bucket.';
COMMENT ON COLUMN event_secrets.name IS 'The public part of the secret, by which its row is found.';
COMMENT ON COLUMN event_secrets.hash IS 'SHA-256 of the secret, which is stored nowhere.';
COMMENT ON COLUMN event_secrets.previous_until IS 'Until when the previous secret is accepted.';

-- What principals may do ----------------------------------------------------------------------------------------------

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
    created_change uuid NOT NULL DEFAULT current_policy_change(),
    removed_by text,
    removed_at timestamptz,
    removed_change uuid,
    CONSTRAINT grants_pkey PRIMARY KEY (id, created_change),
    CONSTRAINT grants_created_change_fkey FOREIGN KEY (created_change) REFERENCES policy_changes (id),
    CONSTRAINT grants_removed_change_fkey FOREIGN KEY (removed_change) REFERENCES policy_changes (id),
    CONSTRAINT grants_actions_check CHECK (cardinality(actions) > 0 AND actions <@ '{PutObject,GetObject}'),
    CONSTRAINT grants_effect_check CHECK (effect IN ('allow', 'deny')),
    CONSTRAINT grants_validity_check CHECK (not_before < not_after),
    CONSTRAINT grants_removal_check CHECK (num_nulls(removed_change, removed_at, removed_by) IN (0, 3))
);
CREATE UNIQUE INDEX grants_live_id_idx ON grants (id) WHERE removed_at IS NULL;
-- What this principal may do; also the lookup of the candidates of one key.
CREATE INDEX grants_principal_bucket_prefix_idx ON grants (principal, bucket, prefix) WHERE removed_at IS NULL;
-- Who may reach this prefix.
CREATE INDEX grants_bucket_prefix_principal_idx ON grants (bucket, prefix, principal) WHERE removed_at IS NULL;
-- The templates of a principal, also of one with many literal grants.
CREATE INDEX grants_templates_idx ON grants (principal, bucket) WHERE is_template AND removed_at IS NULL;
-- Versions that have ended, for questions about the past.
CREATE INDEX grants_removed_idx ON grants (principal, bucket, prefix) WHERE removed_at IS NOT NULL;
CREATE INDEX grants_removed_templates_idx ON grants (principal, bucket) WHERE is_template AND removed_at IS NOT NULL;
-- What refers to a change, for pruning and for the foreign keys.
CREATE INDEX grants_created_change_idx ON grants (created_change);
CREATE INDEX grants_removed_change_idx ON grants (removed_change) WHERE removed_change IS NOT NULL;

COMMENT ON TABLE grants IS
    'Each version of each grant. A grant that is changed gets a further row with its id; at most one of them is live. '
    'Rows outlive their bucket: whoever creates a grant locks the bucket''s row FOR KEY SHARE, and whoever removes the '
    'bucket locks it FOR UPDATE before looking for live grants.';
COMMENT ON COLUMN grants.prefix IS 'Empty for the whole bucket, a prefix that ends with /, or one key.';
COMMENT ON COLUMN grants.is_template IS 'Whether whole segments of the prefix are filled from the caller''s identity.';
COMMENT ON COLUMN grants.conditions IS 'Conditions as the API has them, in JSON.';
COMMENT ON COLUMN grants.created_change IS 'The change that created this version, and the version''s ETag.';
COMMENT ON COLUMN grants.removed_change IS 'The change that ended this version; NULL while it is live.';

CREATE VIEW grant_history AS
SELECT g.id, g.principal, g.bucket, g.prefix, g.is_template, g.actions, g.effect, g.conditions, g.not_before,
    g.not_after, g.note, g.created_by, g.created_at, g.created_change, c.seq AS created_seq, g.removed_change,
    r.seq AS removed_seq, g.removed_at, g.removed_by
FROM grants g
JOIN policy_moments c ON c.tag = g.created_change
LEFT JOIN policy_moments r ON r.tag = g.removed_change;

COMMENT ON VIEW grant_history IS
    'Each version of each grant, with the numbers of the lines of policy_log from which and before which it was in '
    'force.';

CREATE TABLE group_members (
    group_principal text COLLATE "C" NOT NULL,
    member_principal text COLLATE "C" NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    revision uuid NOT NULL DEFAULT gen_random_uuid(),
    CONSTRAINT group_members_pkey PRIMARY KEY (group_principal, member_principal),
    CONSTRAINT group_members_kinds_check CHECK (group_principal LIKE 'group:%' AND member_principal LIKE 'user:%')
);
CREATE INDEX group_members_member_principal_idx ON group_members (member_principal);

COMMENT ON TABLE group_members IS 'Users in groups, beside the groups that a token names.';

CREATE TABLE group_member_history (
    member_principal text COLLATE "C" NOT NULL,
    group_principal text COLLATE "C" NOT NULL,
    created_change uuid NOT NULL,
    removed_change uuid,
    CONSTRAINT group_member_history_pkey PRIMARY KEY (member_principal, group_principal, created_change)
);
CREATE INDEX group_member_history_created_change_idx ON group_member_history (created_change);
CREATE INDEX group_member_history_removed_change_idx ON group_member_history (removed_change)
WHERE removed_change IS NOT NULL;

COMMENT ON TABLE group_member_history IS
    'Memberships past and present, written by the trigger memberships_are_kept.';
COMMENT ON COLUMN group_member_history.created_change IS 'The change with which the membership began.';
COMMENT ON COLUMN group_member_history.removed_change IS 'The change with which it ended; NULL while it lasts.';

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
    revision uuid NOT NULL DEFAULT gen_random_uuid(),
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

COMMENT ON TABLE quotas IS 'Limits of what may be issued in a period. What is used of them is in quota_usage.';
COMMENT ON COLUMN quotas.bucket IS 'The bucket that is counted; NULL for all.';
COMMENT ON COLUMN quotas.action IS 'The action that is counted; NULL for all.';
COMMENT ON COLUMN quotas.sharing IS
    'Where the principal is a group or *: whether each member has the limit, or all share it.';

-- Who may ask ---------------------------------------------------------------------------------------------------------

CREATE TABLE issuers (
    id uuid NOT NULL,
    issuer text COLLATE "C" NOT NULL,
    audiences text[] NOT NULL,
    algorithms text[] NOT NULL,
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
    revision uuid NOT NULL DEFAULT gen_random_uuid(),
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

COMMENT ON TABLE issuers IS
    'Issuers of tokens (JWTs) that the gateway accepts. Exactly one of the three columns of keys is set.';
COMMENT ON COLUMN issuers.issuer IS 'The claim iss of its tokens.';
COMMENT ON COLUMN issuers.keys_url IS 'Address of a JWK set.';
COMMENT ON COLUMN issuers.keys_inline IS 'A JWK set.';
COMMENT ON COLUMN issuers.keys_sealed IS 'A secret shared with the issuer, sealed with the master key.';
COMMENT ON COLUMN issuers.principal_prefix IS
    'What the names of its users begin with, so that the same subject of two issuers is two principals.';
COMMENT ON COLUMN issuers.group_prefix IS 'What the names of its groups begin with.';
COMMENT ON COLUMN issuers.usable_claims IS 'Claims that templates of grants may be filled from.';

CREATE TABLE api_keys (
    id uuid NOT NULL,
    prefix text COLLATE "C" NOT NULL,
    hash bytea NOT NULL,
    name text NOT NULL,
    principal text COLLATE "C" NOT NULL,
    groups text[] NOT NULL,
    roles text[] NOT NULL,
    expires_at timestamptz,
    previous_prefix text COLLATE "C",
    previous_hash bytea,
    previous_expires_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    revision uuid NOT NULL DEFAULT gen_random_uuid(),
    CONSTRAINT api_keys_pkey PRIMARY KEY (id),
    CONSTRAINT api_keys_prefix_key UNIQUE (prefix),
    CONSTRAINT api_keys_hash_check CHECK (octet_length(hash) = 32),
    CONSTRAINT api_keys_roles_check CHECK (roles <@ '{admin,auditor}'),
    CONSTRAINT api_keys_previous_check CHECK (
        num_nulls(previous_prefix, previous_hash, previous_expires_at) IN (0, 3) AND octet_length(previous_hash) = 32
    )
);
CREATE UNIQUE INDEX api_keys_previous_prefix_idx ON api_keys (previous_prefix) WHERE previous_prefix IS NOT NULL;

COMMENT ON TABLE api_keys IS 'API keys. During a rotation the previous key is accepted as well.';
COMMENT ON COLUMN api_keys.prefix IS 'The beginning of the key, by which its row is found.';
COMMENT ON COLUMN api_keys.hash IS 'SHA-256 of the key, which is stored nowhere.';

CREATE TABLE tickets (
    id uuid NOT NULL,
    name text COLLATE "C" NOT NULL,
    hash bytea NOT NULL,
    principal text COLLATE "C" NOT NULL,
    groups text[] NOT NULL,
    claims jsonb NOT NULL,
    issued_on text COLLATE "C",
    bucket text COLLATE "C" NOT NULL,
    prefix text COLLATE "C" NOT NULL,
    actions text[] NOT NULL,
    max_uses bigint NOT NULL,
    expires_at timestamptz NOT NULL,
    sealed bytea,
    key_id text,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    revision uuid NOT NULL DEFAULT gen_random_uuid(),
    CONSTRAINT tickets_pkey PRIMARY KEY (id),
    CONSTRAINT tickets_name_key UNIQUE (name),
    CONSTRAINT tickets_hash_check CHECK (octet_length(hash) = 32),
    CONSTRAINT tickets_actions_check CHECK (cardinality(actions) > 0 AND actions <@ '{PutObject,GetObject}'),
    CONSTRAINT tickets_max_uses_check CHECK (max_uses > 0),
    CONSTRAINT tickets_sealed_check CHECK ((sealed IS NULL) = (key_id IS NULL))
);
CREATE INDEX tickets_principal_idx ON tickets (principal, id);
CREATE INDEX tickets_expires_at_idx ON tickets (expires_at);

COMMENT ON TABLE tickets IS
    'Credentials that fit into a URL, made by users for clients that can send no header. Making one is no change of '
    'policy, since nothing was decided on it before; ending one is. Uses are counted in quota_usage under the '
    'ticket''s id.';
COMMENT ON COLUMN tickets.name IS 'The public part of the ticket, by which its row is found.';
COMMENT ON COLUMN tickets.hash IS 'SHA-256 of the ticket, which is stored nowhere.';

CREATE TABLE ticket_revocations (
    principal text COLLATE "C" NOT NULL,
    revoked_at timestamptz NOT NULL,
    CONSTRAINT ticket_revocations_pkey PRIMARY KEY (principal)
);

COMMENT ON TABLE ticket_revocations IS
    'Users all of whose tickets were revoked. A token of an issuer from before makes no ticket that outlives it.';
COMMENT ON COLUMN tickets.claims IS 'Claims of the maker that templates of grants are filled from.';
COMMENT ON COLUMN tickets.issued_on IS
    'The scope of the row that vouched for the maker: issuer:… or apikey:…; NULL for the operator''s own key.';
COMMENT ON COLUMN tickets.sealed IS 'What answers are encrypted with, sealed; NULL where they are not encrypted.';

-- The ledger ----------------------------------------------------------------------------------------------------------

-- Domains in place of CHECK constraints: PostgreSQL reads a table's constraints anew from their text for each statement
-- that writes, which was a third of the cost of recording one issuance; it caches those of domains.
CREATE DOMAIN issuance_delivery AS text CONSTRAINT issuance_delivery_check CHECK (
    VALUE IN (
        'presigned-url', 'post-policy', 'multipart-start', 'multipart-part', 'multipart-complete', 'redirect', 'sts',
        'remote-signature'
    )
);
CREATE DOMAIN issuance_action AS text CONSTRAINT issuance_action_check CHECK (
    VALUE IN ('PutObject', 'GetObject', 'PutObject,GetObject')
);
CREATE DOMAIN issuance_method AS text CONSTRAINT issuance_method_check CHECK (
    VALUE IN ('GET', 'HEAD', 'PUT', 'POST', 'DELETE', '*')
);
CREATE DOMAIN md5_digest AS bytea CONSTRAINT md5_digest_check CHECK (octet_length(VALUE) IN (16, 32, 33, 48, 49));
CREATE DOMAIN amount AS bigint CONSTRAINT amount_check CHECK (VALUE >= 0);

COMMENT ON DOMAIN issuance_delivery IS 'How a credential reaches the caller.';
COMMENT ON DOMAIN issuance_action IS 'What a credential permits; two actions only for a session (sts).';
COMMENT ON DOMAIN issuance_method IS
    'The method that a credential binds; * only for a session (sts), which binds none.';
COMMENT ON DOMAIN md5_digest IS
    'MD5 of 16 bytes, SHA-256 of 32, or both in this order; one byte more after a SHA-256 that the signature binds.';
COMMENT ON DOMAIN amount IS 'A number of links or bytes.';

CREATE TABLE issuances (
    id uuid NOT NULL,
    issued_at timestamptz NOT NULL,
    policy_seq bigint NOT NULL,
    principal text COLLATE "C" NOT NULL,
    matched_principal text COLLATE "C" NOT NULL,
    grant_id uuid NOT NULL,
    credential_id uuid NOT NULL,
    delivery issuance_delivery NOT NULL,
    action issuance_action NOT NULL,
    method issuance_method NOT NULL,
    bucket text COLLATE "C" NOT NULL,
    object_key text COLLATE "C" NOT NULL,
    expires_at timestamptz NOT NULL,
    content_type text,
    content_md5 md5_digest,
    content_length amount,
    request_id text NOT NULL,
    quota_ids uuid[],
    quota_amounts bigint[],
    CONSTRAINT issuances_pkey PRIMARY KEY (id, issued_at)
) PARTITION BY RANGE (issued_at);
-- For each two pages of a day: the times in them, and with few errors which principals, grants and beginnings of keys
-- are not in them. A tree would cost recording a third; this costs it nothing, since sum_issuances keeps it up to date,
-- and takes a fiftieth of the room of the rows. Ranges are narrow because a caller who is active all day has a row in
-- every few pages. Autovacuum cannot keep up with so many ranges.
CREATE INDEX issuances_lookup_idx ON issuances USING brin (
    issued_at, expires_at,
    principal text_bloom_ops (n_distinct_per_range = 64, false_positive_rate = 0.01),
    grant_id uuid_bloom_ops (n_distinct_per_range = 64, false_positive_rate = 0.01),
    leading_segments(object_key) text_bloom_ops (n_distinct_per_range = 64, false_positive_rate = 0.01)
) WITH (pages_per_range = 2, autosummarize = off);
-- For each 32 pages of a day, the times in them: a few pages for the whole day, so that what is recent is found without
-- reading the index above, which grows with the day.
CREATE INDEX issuances_time_idx ON issuances USING brin (issued_at) WITH (pages_per_range = 32, autosummarize = off);

COMMENT ON TABLE issuances IS
    'The ledger: one row for each credential that left the gateway, in partitions of a day (UTC). Rows are never '
    'changed. There is no further index and no foreign key, since each would cost every issuance.';
COMMENT ON COLUMN issuances.id IS 'UUID of version 7, whose time is the instant that was signed at.';
COMMENT ON COLUMN issuances.issued_at IS 'When it was recorded, by the database''s clock.';
COMMENT ON COLUMN issuances.policy_seq IS 'The line of policy_log up to which the decision knew policy.';
COMMENT ON COLUMN issuances.principal IS 'Who asked.';
COMMENT ON COLUMN issuances.matched_principal IS 'The principal of the grant that permitted it: a user, a group or *.';
COMMENT ON COLUMN issuances.credential_id IS 'The storage credential that signed.';
COMMENT ON COLUMN issuances.object_key IS 'The key; for a session, the prefix.';
COMMENT ON COLUMN issuances.expires_at IS 'When the credential ends, by the gateway''s clock.';
COMMENT ON COLUMN issuances.content_md5 IS 'The digests that the credential binds; see the domain.';
COMMENT ON COLUMN issuances.content_length IS 'The bytes that an upload may have.';
COMMENT ON COLUMN issuances.quota_ids IS
    'The quotas that were charged, and beside them the amounts; counters can be recomputed from these.';

CREATE TABLE quota_usage (
    quota_id uuid NOT NULL,
    holder text COLLATE "C" NOT NULL,
    period_start timestamptz NOT NULL,
    shared boolean NOT NULL,
    used amount NOT NULL,
    released amount NOT NULL DEFAULT 0,
    archived amount NOT NULL DEFAULT 0,
    -- In this order, periods that have ended are found without reading those that have not.
    CONSTRAINT quota_usage_pkey PRIMARY KEY (quota_id, period_start, holder)
-- Half of each page is left free, so that an update stays on its page and changes no index.
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);

COMMENT ON TABLE quota_usage IS
    'Counters: what one holder has used of a quota in one period. A counter equals its charges plus archived less '
    'released.';
COMMENT ON COLUMN quota_usage.quota_id IS 'The quota, or the ticket whose uses are counted.';
COMMENT ON COLUMN quota_usage.holder IS 'The principal whose use is counted; for a shared quota, the quota''s.';
COMMENT ON COLUMN quota_usage.shared IS
    'Whether several principals share the counter. Such counters are locked last, and so for the shortest time.';
COMMENT ON COLUMN quota_usage.released IS 'What was given back, by settling or by a reset.';
COMMENT ON COLUMN quota_usage.archived IS 'Charges of issuances past retention.';

CREATE TABLE reservations (
    issuance_id uuid NOT NULL,
    quota_id uuid NOT NULL,
    holder text COLLATE "C" NOT NULL,
    period_start timestamptz NOT NULL,
    amount bigint NOT NULL,
    issued_at timestamptz NOT NULL,
    policy_seq bigint NOT NULL,
    principal text COLLATE "C" NOT NULL,
    matched_principal text COLLATE "C" NOT NULL,
    grant_id uuid NOT NULL,
    credential_id uuid NOT NULL,
    delivery text NOT NULL,
    action text NOT NULL,
    bucket text COLLATE "C" NOT NULL,
    object_key text COLLATE "C" NOT NULL,
    dead_at timestamptz NOT NULL,
    check_at timestamptz NOT NULL,
    CONSTRAINT reservations_pkey PRIMARY KEY (issuance_id, quota_id),
    CONSTRAINT reservations_amount_check CHECK (amount > 0)
);
CREATE INDEX reservations_check_at_idx ON reservations (check_at);
-- What a quota has reserved, for resets and for who used how much.
CREATE INDEX reservations_quota_id_idx ON reservations (quota_id, period_start, holder);

COMMENT ON TABLE reservations IS
    'Bytes that an upload may still write. They stay counted until a look at the store proves that they never arrived. '
    'The columns that issuances has too are copies: to look up a million rows of the ledger would take ten seconds.';
COMMENT ON COLUMN reservations.dead_at IS
    'When the credential can no longer be used, by the later of the clocks of gateway and database.';
COMMENT ON COLUMN reservations.check_at IS 'When to look next; it moves on while the store gives no final answer.';

CREATE TABLE denials (
    principal text COLLATE "C" NOT NULL,
    bucket text COLLATE "C" NOT NULL DEFAULT '',
    code text NOT NULL,
    minute timestamptz NOT NULL,
    count bigint NOT NULL,
    CONSTRAINT denials_pkey PRIMARY KEY (principal, bucket, code, minute),
    CONSTRAINT denials_count_check CHECK (count > 0)
);
CREATE INDEX denials_minute_idx ON denials (minute);

COMMENT ON TABLE denials IS 'Refusals, counted by the minute.';
COMMENT ON COLUMN denials.bucket IS 'Empty where no such bucket exists.';
COMMENT ON COLUMN denials.code IS 'The code of the problem that was answered.';

CREATE TABLE idempotency_keys (
    id uuid NOT NULL,
    caller text COLLATE "C" NOT NULL,
    route text COLLATE "C" NOT NULL,
    key_digest bytea NOT NULL,
    body_digest bytea NOT NULL,
    attempt uuid NOT NULL,
    claimed_until timestamptz NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    changed_at timestamptz,
    issuance_ids uuid[] NOT NULL DEFAULT '{}',
    answered_at timestamptz,
    sealed bytea,
    key_id text,
    CONSTRAINT idempotency_keys_pkey PRIMARY KEY (id),
    CONSTRAINT idempotency_keys_key UNIQUE (key_digest, caller, route),
    CONSTRAINT idempotency_keys_digests_check CHECK (octet_length(key_digest) = 32 AND octet_length(body_digest) = 32),
    CONSTRAINT idempotency_keys_sealed_check CHECK (num_nulls(sealed, key_id) IN (0, 2))
);
CREATE INDEX idempotency_keys_created_at_idx ON idempotency_keys (created_at);

COMMENT ON TABLE idempotency_keys IS
    'Requests with an idempotency key, for 24 hours. Neither keys nor bodies are stored, only their digests (SHA-256); '
    'what was issued is proved and signed again, so no link is stored either.';
COMMENT ON COLUMN idempotency_keys.attempt IS 'Which request with the key may act.';
COMMENT ON COLUMN idempotency_keys.claimed_until IS 'Until when no other request may act; the gateway renews it.';
COMMENT ON COLUMN idempotency_keys.changed_at IS 'When rows were changed for the request.';
COMMENT ON COLUMN idempotency_keys.issuance_ids IS 'What was recorded for the request.';
COMMENT ON COLUMN idempotency_keys.sealed IS 'The answer, sealed, where it is not signed again.';

CREATE TABLE issuance_sums (
    minute timestamptz NOT NULL,
    bucket text COLLATE "C" NOT NULL,
    action text NOT NULL,
    delivery text NOT NULL,
    credential_id uuid NOT NULL,
    byte_quotas uuid[] NOT NULL,
    urls bigint NOT NULL,
    bytes_bound numeric,
    bytes_reserved numeric
);
CREATE INDEX issuance_sums_minute_idx ON issuance_sums (minute);

COMMENT ON TABLE issuance_sums IS
    'What was issued in a minute, summed up by sum_issuances. Several rows may have the same key, for parts of the '
    'minute.';
COMMENT ON COLUMN issuance_sums.byte_quotas IS
    'The byte quotas that each of these was charged to; several reserve the same bytes.';
COMMENT ON COLUMN issuance_sums.bytes_bound IS 'Bytes that the credentials bind.';
COMMENT ON COLUMN issuance_sums.bytes_reserved IS 'Bytes that were charged to byte quotas, each once.';

CREATE TABLE summed_days (
    starts_at timestamptz NOT NULL,
    summed_to timestamptz NOT NULL,
    pages bigint NOT NULL,
    CONSTRAINT summed_days_pkey PRIMARY KEY (starts_at),
    CONSTRAINT summed_days_check CHECK (summed_to > starts_at AND summed_to <= starts_at + interval '24 hours')
);

COMMENT ON TABLE summed_days IS 'How far each day (UTC) is summed up: all its rows before an instant.';
COMMENT ON COLUMN summed_days.summed_to IS 'That instant.';
COMMENT ON COLUMN summed_days.pages IS 'Pages of the partition up to which its BRIN indexes are summarised.';

-- Uploads -------------------------------------------------------------------------------------------------------------

CREATE TABLE multipart_uploads (
    id uuid NOT NULL,
    principal text COLLATE "C" NOT NULL,
    bucket text COLLATE "C" NOT NULL,
    object_key text COLLATE "C" NOT NULL,
    content_type text NOT NULL,
    content_length bigint,
    state text NOT NULL,
    store_upload_id text COLLATE "C",
    part_numbers integer[] NOT NULL DEFAULT '{}',
    part_etags text[] NOT NULL DEFAULT '{}',
    etag text,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at timestamptz NOT NULL,
    check_at timestamptz NOT NULL,
    parts_length bigint NOT NULL DEFAULT 0,
    parts_of_unknown_length integer NOT NULL DEFAULT 0,
    may_be_complete boolean NOT NULL DEFAULT false,
    CONSTRAINT multipart_uploads_pkey PRIMARY KEY (id),
    CONSTRAINT multipart_uploads_state_check CHECK (
        state IN ('starting', 'open', 'completing', 'completed', 'aborting', 'aborted')
    ),
    CONSTRAINT multipart_uploads_content_length_check CHECK (content_length >= 0),
    CONSTRAINT multipart_uploads_parts_check CHECK (cardinality(part_numbers) = cardinality(part_etags))
);
CREATE INDEX multipart_uploads_check_at_idx ON multipart_uploads (check_at)
WHERE state IN ('starting', 'open', 'completing', 'aborting');
CREATE INDEX multipart_uploads_ended_idx ON multipart_uploads (expires_at) WHERE state IN ('completed', 'aborted');
CREATE INDEX multipart_uploads_object_idx ON multipart_uploads (bucket, object_key);

COMMENT ON TABLE multipart_uploads IS
    'Uploads in parts that the gateway started, written down before the store is asked for one.';
COMMENT ON COLUMN multipart_uploads.id IS 'The issuance that started it.';
COMMENT ON COLUMN multipart_uploads.content_length IS
    'Most bytes of all parts together; NULL where no length was given.';
COMMENT ON COLUMN multipart_uploads.store_upload_id IS 'The store''s identifier; NULL until its answer arrived.';
COMMENT ON COLUMN multipart_uploads.part_numbers IS
    'The parts of the object once it was asked for, and beside them their ETags.';
COMMENT ON COLUMN multipart_uploads.check_at IS 'When to look next whether something is left at the store.';
COMMENT ON COLUMN multipart_uploads.parts_length IS
    'Bytes of the longest known length of each part in multipart_parts, all parts together.';
COMMENT ON COLUMN multipart_uploads.parts_of_unknown_length IS 'Parts with a row there that has no length.';
COMMENT ON COLUMN multipart_uploads.may_be_complete IS
    'The store did not know the upload when it was to be completed or aborted, or did not end it in time, or could not '
    'be asked any more: somebody may have completed it, with any parts.';

CREATE TABLE multipart_parts (
    issuance_id uuid NOT NULL,
    upload_id uuid NOT NULL,
    part_number integer NOT NULL,
    content_length bigint,
    CONSTRAINT multipart_parts_pkey PRIMARY KEY (issuance_id),
    CONSTRAINT multipart_parts_upload_id_fkey
        FOREIGN KEY (upload_id) REFERENCES multipart_uploads (id) ON DELETE CASCADE,
    CONSTRAINT multipart_parts_part_number_check CHECK (part_number BETWEEN 1 AND 10000),
    CONSTRAINT multipart_parts_content_length_check CHECK (content_length >= 0)
);
CREATE INDEX multipart_parts_upload_id_idx ON multipart_parts (upload_id, part_number, content_length);

COMMENT ON TABLE multipart_parts IS 'Parts for which links were, or were about to be, issued.';

CREATE TABLE remote_uploads (
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    principal text COLLATE "C" NOT NULL,
    bucket text COLLATE "C" NOT NULL,
    object_key text COLLATE "C" NOT NULL,
    content_type text NOT NULL,
    upload_id text COLLATE "C",
    started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT remote_uploads_pkey PRIMARY KEY (id),
    CONSTRAINT remote_uploads_upload_id_key UNIQUE (bucket, upload_id)
);
CREATE INDEX remote_uploads_object_idx ON remote_uploads (bucket, object_key, principal, started_at)
    WHERE upload_id IS NULL;
CREATE INDEX remote_uploads_key_idx ON remote_uploads (bucket, object_key, principal, content_type);
CREATE INDEX remote_uploads_started_at_idx ON remote_uploads (started_at);

COMMENT ON TABLE remote_uploads IS 'Uploads in parts that clients start with signatures of the gateway.';
COMMENT ON COLUMN remote_uploads.upload_id IS
    'The store''s identifier, bound when the client first comes with it; NULL until then.';

CREATE TABLE landings (
    issuance_id uuid NOT NULL,
    finding text NOT NULL,
    mismatches text[] NOT NULL DEFAULT '{}',
    source text NOT NULL,
    size bigint,
    etag text,
    content_type text,
    found_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT landings_pkey PRIMARY KEY (issuance_id),
    CONSTRAINT landings_finding_check CHECK (finding IN ('absent', 'landed', 'mismatched', 'unverified')),
    CONSTRAINT landings_mismatches_check CHECK (
        mismatches <@ '{size,md5,sha256,type}' AND (cardinality(mismatches) > 0) = (finding = 'mismatched')
    ),
    CONSTRAINT landings_source_check CHECK (source IN ('confirmation', 'settlement'))
);

COMMENT ON TABLE landings IS
    'What the gateway found of an upload when it asked the store. It is apart from the ledger, whose rows do not '
    'change.';
COMMENT ON COLUMN landings.mismatches IS 'In what the object differs from what the credential binds.';
COMMENT ON COLUMN landings.source IS 'Who asked: the client, by a confirmation, or the settling of reserved bytes.';

CREATE TABLE store_events (
    bucket text COLLATE "C" NOT NULL,
    object_key text COLLATE "C" NOT NULL,
    made_at timestamptz NOT NULL,
    size bigint,
    etag text,
    received_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    callback_id text COLLATE "C",
    -- A key has 1,023 bytes at most, so that the whole fits into an index.
    CONSTRAINT store_events_pkey PRIMARY KEY (bucket, object_key, made_at)
);
CREATE UNIQUE INDEX store_events_callback_idx ON store_events (bucket, object_key, callback_id)
WHERE callback_id IS NOT NULL;
CREATE INDEX store_events_received_at_idx ON store_events (received_at);

COMMENT ON TABLE store_events IS
    'Objects that stores reported. Issuances cannot be found by key, so these are, when somebody asks for an upload.';
COMMENT ON COLUMN store_events.made_at IS 'When the object was made, by the store''s clock.';
COMMENT ON COLUMN store_events.callback_id IS
    'Tells a callback of OSS, which states no time, from others: the identifier of the store''s request, or a hash of '
    'its body.';

CREATE VIEW uploads AS
SELECT i.id, i.issued_at, e.expires_at, i.delivery, i.action, i.method, i.principal, i.bucket, i.object_key,
    i.content_type, i.content_md5, coalesce(i.content_length, m.content_length) AS content_length,
    (d.dead_at <= statement_timestamp() OR m.state IN ('aborting', 'aborted')) IS TRUE AS is_dead,
    m.state AS multipart_state, m.etag AS multipart_etag,
    l.finding, l.mismatches, l.source, l.size, l.etag, l.content_type AS found_type, l.found_at,
    t.made_at, t.size AS event_size, t.etag AS event_etag,
    CASE
        WHEN l.finding IN ('landed', 'mismatched', 'unverified') THEN l.finding
        WHEN m.state = 'completed' OR t.made_at IS NOT NULL THEN 'landed'
        WHEN d.dead_at <= statement_timestamp() OR m.state IN ('aborting', 'aborted') THEN 'expired'
        ELSE 'issued'
    END AS state
FROM issuances i
LEFT JOIN multipart_uploads m ON m.id = i.id AND i.delivery = 'multipart-start'
CROSS JOIN LATERAL (SELECT coalesce(m.expires_at, i.expires_at) AS expires_at) e
-- By the later of both clocks, that of the gateway and the database's own.
CROSS JOIN LATERAL (SELECT greatest(e.expires_at, i.issued_at + (e.expires_at - uuid_instant(i.id))) AS dead_at) d
LEFT JOIN landings l ON l.issuance_id = i.id
-- Clocks may differ by half a minute, and an upload may end a quarter of an hour after its link.
LEFT JOIN LATERAL (
    SELECT s.made_at, s.size, s.etag
    FROM store_events s
    WHERE s.bucket = i.bucket AND s.object_key = i.object_key AND s.made_at > i.issued_at - interval '30 seconds'
        AND s.made_at < d.dead_at + interval '15 minutes'
    ORDER BY s.made_at DESC LIMIT 1
) t ON true;

COMMENT ON VIEW uploads IS
    'Issuances with all that is known of the objects that they made: what the gateway found, and what stores reported '
    'of an object that was made in the time of the upload.';

-- Operation -----------------------------------------------------------------------------------------------------------

CREATE TABLE gateways (
    id uuid NOT NULL,
    version text NOT NULL,
    started_at timestamptz NOT NULL,
    last_seen_at timestamptz NOT NULL,
    policy_seq bigint,
    policy_tag uuid,
    clock_difference double precision NOT NULL,
    key_ids text[] NOT NULL,
    CONSTRAINT gateways_pkey PRIMARY KEY (id),
    CONSTRAINT gateways_policy_check CHECK ((policy_seq IS NULL) = (policy_tag IS NULL))
);

COMMENT ON TABLE gateways IS 'Gateways that run; each writes its row every five seconds.';
COMMENT ON COLUMN gateways.id IS 'One start of one process.';
COMMENT ON COLUMN gateways.started_at IS 'By the gateway''s clock.';
COMMENT ON COLUMN gateways.policy_seq IS 'How far it has read policy_log; NULL before it has read anything.';
COMMENT ON COLUMN gateways.clock_difference IS
    'Seconds by which its clock was ahead of the database''s when its last message arrived.';
COMMENT ON COLUMN gateways.key_ids IS
    'Its master keys, the one that seals first: of each the identifier, a colon and a fingerprint.';

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
    CONSTRAINT admin_audit_operation_check CHECK (
        operation IN ('create', 'update', 'delete', 'reset', 'import', 'validate', 'rotate')
    )
);
CREATE INDEX admin_audit_kind_resource_id_idx ON admin_audit (kind, resource_id, id);
CREATE INDEX admin_audit_request_id_idx ON admin_audit (request_id);
CREATE INDEX admin_audit_actor_idx ON admin_audit (actor, id);

COMMENT ON TABLE admin_audit IS 'What admins did, with the resource before and after. Rows are never changed.';
COMMENT ON COLUMN admin_audit.kind IS 'The kind of resource, as the API names it.';

-- The first line of the log, which the first decisions rest on --------------------------------------------------------

INSERT INTO policy_log (seq, scopes, actor, request_id) VALUES (1, '{all}', 'migration', '');
INSERT INTO policy_changes (id) SELECT l.tag FROM policy_log l;
