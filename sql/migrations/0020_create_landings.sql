-- What became of uploads: what the gateway found at the stores, and what stores told by themselves. Nothing is written when an
-- upload is issued, and no index is added to the ledger.

-- What the gateway found under the key of an upload when it had the store asked.
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
    CONSTRAINT landings_finding_check CHECK (finding IN ('absent', 'landed', 'mismatched')),
    CONSTRAINT landings_mismatches_check CHECK (
        mismatches <@ '{size,md5,type}' AND (cardinality(mismatches) > 0) = (finding = 'mismatched')
    ),
    CONSTRAINT landings_source_check CHECK (source IN ('confirmation', 'settlement'))
);

-- Objects that stores told of when they were made. Issuances cannot be found by key, so these are, when somebody asks for one.
CREATE TABLE store_events (
    bucket text COLLATE "C" NOT NULL,
    object_key text COLLATE "C" NOT NULL,
    -- By the store's clock.
    made_at timestamptz NOT NULL,
    size bigint,
    etag text,
    received_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- A key has 1,023 bytes at the most, so that all fits into an index.
    CONSTRAINT store_events_pkey PRIMARY KEY (bucket, object_key, made_at)
);

CREATE INDEX store_events_received_at_idx ON store_events (received_at);

-- What stores authenticate with when they tell of a bucket. The former secret may be good for a while.
CREATE TABLE event_secrets (
    bucket text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    -- SHA-256 of the secret; the secret itself is nowhere.
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

-- Every issuance that may make one object, with all that is known of that. An event counts if the object was made in the time of
-- the upload; clocks may differ by half a minute, and an upload may end a quarter of an hour after its URL.
CREATE VIEW uploads AS
SELECT i.id, i.issued_at, d.dead_at AS expires_at, i.delivery, i.action, i.method, i.principal, i.bucket, i.object_key,
    i.content_type, i.content_md5, coalesce(i.content_length, m.content_length) AS content_length,
    (d.dead_at <= statement_timestamp() OR m.state IN ('aborting', 'aborted')) IS TRUE AS is_dead,
    m.state AS multipart_state, m.etag AS multipart_etag,
    l.finding, l.mismatches, l.source, l.size, l.etag, l.content_type AS found_type, l.found_at,
    e.made_at, e.size AS event_size, e.etag AS event_etag,
    CASE
        WHEN l.finding IN ('landed', 'mismatched') THEN l.finding
        WHEN m.state = 'completed' OR e.made_at IS NOT NULL THEN 'landed'
        WHEN d.dead_at <= statement_timestamp() OR m.state IN ('aborting', 'aborted') THEN 'expired'
        ELSE 'issued'
    END AS state
FROM issuances i
LEFT JOIN multipart_uploads m ON m.id = i.id AND i.delivery = 'multipart-start'
CROSS JOIN LATERAL (SELECT coalesce(m.expires_at, i.expires_at) AS dead_at) d
LEFT JOIN landings l ON l.issuance_id = i.id
LEFT JOIN LATERAL (
    SELECT t.made_at, t.size, t.etag FROM store_events t
    WHERE t.bucket = i.bucket AND t.object_key = i.object_key
        AND t.made_at > i.issued_at - interval '30 seconds' AND t.made_at < d.dead_at + interval '15 minutes'
    ORDER BY t.made_at DESC LIMIT 1
) e ON true;

-- Writes down what was found, unless a confirmation found before that the upload landed; gives what holds then.
CREATE FUNCTION note_landing(
    p_issuance_id uuid, p_finding text, p_mismatches text[], p_source text, p_size bigint, p_etag text, p_content_type text
) RETURNS SETOF landings
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    INSERT INTO landings AS l (issuance_id, finding, mismatches, source, size, etag, content_type)
    VALUES (p_issuance_id, p_finding, p_mismatches, p_source, p_size, p_etag, p_content_type)
    ON CONFLICT (issuance_id) DO UPDATE
    SET finding = p_finding, mismatches = p_mismatches, source = p_source, size = p_size, etag = p_etag,
        content_type = p_content_type, found_at = clock_timestamp()
    WHERE NOT (l.finding = 'landed' AND l.source = 'confirmation');
    RETURN QUERY SELECT l.* FROM landings l WHERE l.issuance_id = p_issuance_id;
END
$$;

-- Writes down what the settling of reserved bytes found of uploads of one object; it knows sizes alone, and gives way to what
-- was confirmed.
CREATE FUNCTION note_settled_uploads(p_issuance_ids uuid[], p_landed bigint[]) RETURNS void
LANGUAGE sql VOLATILE
BEGIN ATOMIC
    INSERT INTO landings (issuance_id, finding, mismatches, source, size)
    SELECT f.id, f.finding, CASE f.finding WHEN 'mismatched' THEN '{size}'::text[] ELSE '{}' END, 'settlement',
        nullif(f.landed, 0)
    FROM (
        SELECT DISTINCT ON (s.id) s.id, s.landed,
            CASE
                WHEN s.landed = 0 THEN 'absent'
                WHEN i.delivery = 'presigned-url' AND i.content_length <> s.landed THEN 'mismatched'
                ELSE 'landed'
            END AS finding
        FROM unnest(p_issuance_ids, p_landed) AS s (id, landed)
        JOIN issuances i ON i.id = s.id AND i.issued_at > statement_timestamp() - interval '10 days'
        WHERE s.landed IS NOT NULL
        ORDER BY s.id
    ) f
    ON CONFLICT DO NOTHING;
END;

-- Deletes what was told and found long ago; answers how many. Nothing lives longer than a week, so that after ten days an event
-- belongs to no upload that can still arrive. What was found is kept as long as the ledger; NULL for ever.
CREATE FUNCTION prune_landings(p_keep_days integer, p_most integer) RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = public, pg_temp
AS $$
DECLARE
    v_events integer;
    v_landings integer;
    -- Identifiers begin with the time in milliseconds.
    v_before uuid := rpad(lpad(to_hex((extract(epoch FROM clock_timestamp())
        - 86400 * greatest(p_keep_days, 32))::bigint * 1000), 12, '0'), 32, '0')::uuid;
BEGIN
    DELETE FROM store_events e
    WHERE e.ctid = ANY (ARRAY(
        SELECT o.ctid FROM store_events o
        WHERE o.received_at < clock_timestamp() - interval '10 days'
        ORDER BY o.received_at LIMIT p_most
        FOR UPDATE SKIP LOCKED
    ));
    GET DIAGNOSTICS v_events = ROW_COUNT;
    DELETE FROM landings l
    WHERE p_keep_days IS NOT NULL AND l.issuance_id = ANY (ARRAY(
        SELECT o.issuance_id FROM landings o
        WHERE o.issuance_id < v_before
        ORDER BY o.issuance_id LIMIT p_most
        FOR UPDATE SKIP LOCKED
    ));
    GET DIAGNOSTICS v_landings = ROW_COUNT;
    RETURN v_events + v_landings;
END
$$;

ALTER TABLE admin_audit
    DROP CONSTRAINT admin_audit_operation_check,
    ADD CONSTRAINT admin_audit_operation_check CHECK (
        operation IN ('create', 'update', 'delete', 'reset', 'import', 'validate', 'rotate')
    );

-- As before, and for the new tables.
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
            'multipart_uploads, multipart_parts, idempotency_keys, landings, store_events, event_secrets TO %I', p_role
    );
    EXECUTE format(
        'GRANT DELETE ON storage_credentials, buckets, group_members, quotas, issuers, api_keys, reservations, '
            'tickets, multipart_parts, idempotency_keys, event_secrets TO %I', p_role
    );
    EXECUTE format(
        'GRANT UPDATE ON storage_credentials, buckets, issuers, api_keys, idempotency_keys, landings, event_secrets TO %I',
        p_role
    );
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
