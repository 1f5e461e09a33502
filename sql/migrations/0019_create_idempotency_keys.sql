-- Requests with idempotency keys, kept for 24 hours. Neither keys nor bodies stand here, only their digests; of what was issued its
-- identifiers, whose time is the instant that was signed at; other answers are sealed.

CREATE TABLE idempotency_keys (
    id uuid NOT NULL,
    caller text NOT NULL COLLATE "C",
    route text NOT NULL COLLATE "C",
    key_digest bytea NOT NULL,
    body_digest bytea NOT NULL,
    -- Which request with the key may act, and until when nobody else may.
    attempt uuid NOT NULL,
    claimed_until timestamptz NOT NULL,
    created_at timestamptz DEFAULT clock_timestamp() NOT NULL,
    -- What came of it: rows that were changed, issuances that are on record.
    changed_at timestamptz,
    issuance_ids uuid[] DEFAULT '{}' NOT NULL,
    answered_at timestamptz,
    sealed bytea,
    key_id text,
    CONSTRAINT idempotency_keys_pkey PRIMARY KEY (id),
    CONSTRAINT idempotency_keys_key UNIQUE (key_digest, caller, route),
    CONSTRAINT idempotency_keys_digests_check CHECK (octet_length(key_digest) = 32 AND octet_length(body_digest) = 32),
    CONSTRAINT idempotency_keys_sealed_check CHECK (num_nulls(sealed, key_id) IN (0, 2))
);

CREATE INDEX idempotency_keys_created_at_idx ON idempotency_keys (created_at);

-- Claims a key for a request, or tells what is known of it.
--
-- Verdicts: 'fresh', 'interrupted' (it took effect, nobody knows of an answer), 'answered', 'in-flight', 'other-request'. The first
-- two come with the claim.
CREATE FUNCTION claim_idempotency_key(
    p_id uuid, p_attempt uuid, p_caller text, p_route text, p_key_digest bytea, p_body_digest bytea, p_claim_seconds integer,
    OUT verdict text, OUT id uuid, OUT issuance_ids uuid[], OUT sealed bytea, OUT key_id text
)
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    v_row idempotency_keys;
BEGIN
    FOR i IN 1..5 LOOP
        INSERT INTO idempotency_keys AS k (id, caller, route, key_digest, body_digest, attempt, claimed_until)
        VALUES (
            p_id, p_caller, p_route, p_key_digest, p_body_digest, p_attempt,
            clock_timestamp() + make_interval(secs => p_claim_seconds)
        )
        ON CONFLICT ON CONSTRAINT idempotency_keys_key DO NOTHING;
        IF FOUND THEN
            verdict := 'fresh';
            id := p_id;
            issuance_ids := '{}';
            RETURN;
        END IF;
        -- Who has the row locked is about to record or to answer; nobody waits for that.
        SELECT k.* INTO v_row
        FROM idempotency_keys k
        WHERE k.key_digest = p_key_digest AND k.caller = p_caller AND k.route = p_route
        FOR UPDATE SKIP LOCKED;
        IF NOT FOUND THEN
            IF EXISTS (
                SELECT FROM idempotency_keys k
                WHERE k.key_digest = p_key_digest AND k.caller = p_caller AND k.route = p_route
            ) THEN
                verdict := 'in-flight';
                RETURN;
            END IF;
            CONTINUE;
        END IF;
        IF v_row.created_at < clock_timestamp() - interval '24 hours' THEN
            DELETE FROM idempotency_keys k WHERE k.id = v_row.id;
            CONTINUE;
        END IF;
        EXIT;
    END LOOP;
    IF v_row.id IS NULL THEN
        verdict := 'in-flight';
        RETURN;
    END IF;

    id := v_row.id;
    issuance_ids := v_row.issuance_ids;
    IF v_row.body_digest <> p_body_digest THEN
        verdict := 'other-request';
    ELSIF v_row.answered_at IS NOT NULL THEN
        verdict := 'answered';
        sealed := v_row.sealed;
        key_id := v_row.key_id;
    ELSIF v_row.claimed_until > clock_timestamp() THEN
        verdict := 'in-flight';
    ELSE
        UPDATE idempotency_keys k
        SET attempt = p_attempt, claimed_until = clock_timestamp() + make_interval(secs => p_claim_seconds)
        WHERE k.id = v_row.id;
        verdict := CASE
            WHEN v_row.changed_at IS NOT NULL OR cardinality(v_row.issuance_ids) > 0 THEN 'interrupted'
            ELSE 'fresh'
        END;
    END IF;
END
$$;

-- As before, but a part that is reserved already, since the request came again, stays as it is.
CREATE OR REPLACE FUNCTION reserve_multipart_parts(
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
        FROM unnest(p_issuance_ids, p_numbers, p_lengths) AS t (issuance_id, number, length)
        ON CONFLICT (issuance_id) DO NOTHING;
    END IF;
END
$$;

-- As before, with the new table.
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
            'multipart_uploads, multipart_parts, idempotency_keys TO %I', p_role
    );
    EXECUTE format(
        'GRANT DELETE ON storage_credentials, buckets, group_members, quotas, issuers, api_keys, reservations, '
            'tickets, multipart_parts, idempotency_keys TO %I', p_role
    );
    EXECUTE format('GRANT UPDATE ON storage_credentials, buckets, issuers, api_keys, idempotency_keys TO %I', p_role);
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
