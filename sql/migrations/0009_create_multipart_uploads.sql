-- Uploads in parts: what stores may hold on behalf of whom, written down before the store is asked.

ALTER TABLE issuances
    DROP CONSTRAINT issuances_delivery_check,
    ADD CONSTRAINT issuances_delivery_check CHECK (
        delivery IN (
            'presigned-url', 'post-policy', 'multipart-start', 'multipart-part', 'multipart-complete', 'redirect', 'sts',
            'remote-signature'
        )
    );

CREATE TABLE multipart_uploads (
    -- That of the issuance that started it.
    id uuid NOT NULL,
    principal text COLLATE "C" NOT NULL,
    bucket text COLLATE "C" NOT NULL,
    object_key text COLLATE "C" NOT NULL,
    content_type text NOT NULL,
    -- Most bytes of all parts together; NULL where nothing was said of it.
    content_length bigint,
    state text NOT NULL,
    -- NULL until the store's answer arrived.
    store_upload_id text COLLATE "C",
    -- The parts of the object, pairwise, once it was asked for.
    part_numbers integer[] NOT NULL DEFAULT '{}',
    part_etags text[] NOT NULL DEFAULT '{}',
    etag text,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at timestamptz NOT NULL,
    -- When to look next whether something is left at the store.
    check_at timestamptz NOT NULL,
    CONSTRAINT multipart_uploads_pkey PRIMARY KEY (id),
    CONSTRAINT multipart_uploads_state_check CHECK (
        state IN ('starting', 'open', 'completing', 'completed', 'aborting', 'aborted')
    ),
    CONSTRAINT multipart_uploads_content_length_check CHECK (content_length >= 0),
    CONSTRAINT multipart_uploads_parts_check CHECK (cardinality(part_numbers) = cardinality(part_etags))
);

CREATE INDEX multipart_uploads_check_at_idx ON multipart_uploads (check_at)
WHERE state IN ('starting', 'open', 'completing', 'aborting');
CREATE INDEX multipart_uploads_object_idx ON multipart_uploads (bucket, object_key);

-- Parts for which URLs were, or were about to be, issued.
CREATE TABLE multipart_parts (
    issuance_id uuid NOT NULL,
    upload_id uuid NOT NULL,
    part_number integer NOT NULL,
    content_length bigint,
    CONSTRAINT multipart_parts_pkey PRIMARY KEY (issuance_id),
    CONSTRAINT multipart_parts_upload_id_fkey FOREIGN KEY (upload_id) REFERENCES multipart_uploads (id) ON DELETE CASCADE,
    CONSTRAINT multipart_parts_part_number_check CHECK (part_number BETWEEN 1 AND 10000),
    CONSTRAINT multipart_parts_content_length_check CHECK (content_length >= 0)
);

CREATE INDEX multipart_parts_upload_id_idx ON multipart_parts (upload_id, part_number);

-- Writes down parts that are about to be issued, all or none, and adds up what all parts of the upload may have together: of a
-- part for which several URLs were issued, the longest counts.
--
-- Verdicts: 'reserved', 'closed' (it takes no parts), 'too-large' and 'length-required' (it was started with a length). With no
-- parts, also answers for an upload that is being completed.
CREATE FUNCTION reserve_multipart_parts(
    p_id uuid, p_issuance_ids uuid[], p_numbers integer[], p_lengths bigint[],
    OUT verdict text, OUT object_length bigint, OUT max_length bigint
)
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    v_state text;
BEGIN
    SELECT u.state, u.content_length INTO v_state, max_length
    FROM multipart_uploads u
    WHERE u.id = p_id
    FOR UPDATE;
    IF v_state IS NULL OR NOT (v_state = 'open' OR v_state = 'completing' AND cardinality(p_numbers) = 0) THEN
        verdict := 'closed';
        RETURN;
    END IF;
    SELECT CASE WHEN count(*) = count(s.length) THEN coalesce(sum(s.length), 0) END INTO object_length
    FROM (
        SELECT CASE WHEN count(*) = count(p.length) THEN max(p.length) END AS length
        FROM (
            SELECT m.part_number AS number, m.content_length AS length FROM multipart_parts m WHERE m.upload_id = p_id
            UNION ALL
            SELECT t.number, t.length FROM unnest(p_numbers, p_lengths) AS t (number, length)
        ) p
        GROUP BY p.number
    ) s;
    verdict := CASE
        WHEN max_length IS NULL OR object_length <= max_length THEN 'reserved'
        WHEN object_length IS NULL THEN 'length-required'
        ELSE 'too-large'
    END;
    IF verdict = 'reserved' THEN
        INSERT INTO multipart_parts (issuance_id, upload_id, part_number, content_length)
        SELECT t.issuance_id, p_id, t.number, t.length
        FROM unnest(p_issuance_ids, p_numbers, p_lengths) AS t (issuance_id, number, length);
    END IF;
END
$$;

-- Deletes uploads that ended long ago; answers how many.
CREATE FUNCTION prune_multipart_uploads(p_keep_days integer, p_most integer) RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = public, pg_temp
AS $$
DECLARE
    v_count integer;
BEGIN
    -- Reservations of their parts are settled by then: a URL lives seven days at the most.
    DELETE FROM multipart_uploads u
    WHERE u.id = ANY (ARRAY(
        SELECT o.id FROM multipart_uploads o
        WHERE o.state IN ('completed', 'aborted')
            AND o.expires_at < clock_timestamp() - make_interval(days => greatest(p_keep_days, 10))
        LIMIT p_most
        FOR UPDATE SKIP LOCKED
    ));
    GET DIAGNOSTICS v_count = ROW_COUNT;
    RETURN v_count;
END
$$;

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
        'GRANT INSERT ON policy_log, storage_credentials, buckets, grants, group_members, quotas, issuers, api_keys, '
            'admin_audit, issuances, quota_usage, reservations, denials, tickets, '
            'multipart_uploads, multipart_parts TO %I', p_role
    );
    EXECUTE format(
        'GRANT DELETE ON storage_credentials, buckets, group_members, quotas, issuers, api_keys, reservations, '
            'tickets, multipart_parts TO %I', p_role
    );
    EXECUTE format('GRANT UPDATE ON storage_credentials, buckets, issuers, api_keys TO %I', p_role);
    EXECUTE format('GRANT UPDATE (sealed, key_id) ON tickets TO %I', p_role);
    EXECUTE format('GRANT UPDATE (created_seq, removed_seq, removed_at, removed_by) ON grants TO %I', p_role);
    EXECUTE format('GRANT UPDATE (used, released) ON quota_usage TO %I', p_role);
    -- A quota's other columns fix what its counters mean.
    EXECUTE format('GRANT UPDATE (quota_limit) ON quotas TO %I', p_role);
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
