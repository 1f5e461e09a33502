-- A gateway that is stopped between two statements holds nothing that recordings and changes of policy of others wait for: the
-- policy lock is taken by single statements and by COMMIT alone, counters of quotas by single statements. And the claim of a
-- gateway that died runs out within seconds.

-- The log of policy is written by COMMIT.

DROP TRIGGER changes_are_logged ON policy_changes;
DROP FUNCTION refuse_unlogged_change;
DROP FUNCTION append_policy_log;

-- Says what the log will tell of a change of policy: call it last, after all other writes of the transaction. COMMIT takes the
-- exclusive lock and writes the line, so that nobody waits for what a gateway does between two statements.
--
--   p_attempts  how often COMMIT asks for the lock, for two seconds each; recordings go on in between
CREATE FUNCTION append_policy_log(p_scopes text[], p_actor text, p_request_id text, p_attempts integer DEFAULT 1) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    v_scopes text[] := CASE WHEN cardinality(p_scopes) > 1000 THEN '{all}' ELSE p_scopes END;
    v_lines jsonb := coalesce(nullif(current_setting('sluice.lines', true), ''), '{}');
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'a change of policy needs read committed' USING ERRCODE = 'invalid_transaction_state';
    END IF;
    v_lines := v_lines || jsonb_build_object(
        current_policy_change(),
        jsonb_build_object('scopes', v_scopes, 'actor', p_actor, 'request', p_request_id, 'attempts', p_attempts)
    );
    PERFORM set_config('sluice.lines', v_lines::text, true);
    PERFORM set_config('sluice.change', '', true);
END
$$;

-- Writes the line of a change as its transaction commits; refuses a change that no line was said for.
--
-- The exclusive lock waits for every recording that is under way, and every later recording sees the new line.
CREATE FUNCTION write_policy_log() RETURNS trigger
LANGUAGE plpgsql
SET lock_timeout = '2s'
AS $$
DECLARE
    v_line jsonb := nullif(current_setting('sluice.lines', true), '')::jsonb -> NEW.id::text;
    v_attempts integer := (v_line -> 'attempts')::integer;
    v_seq bigint;
BEGIN
    IF v_line IS NULL THEN
        RAISE EXCEPTION 'change % ends without append_policy_log', NEW.id
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    -- A statement of its own: the next one must see what was committed while this one waited.
    LOOP
        BEGIN
            PERFORM pg_advisory_xact_lock(7310868744);
            EXIT;
        EXCEPTION WHEN lock_not_available THEN
            v_attempts := v_attempts - 1;
            IF v_attempts <= 0 THEN
                RAISE;
            END IF;
        END;
    END LOOP;
    INSERT INTO policy_log (seq, tag, scopes, actor, request_id)
    SELECT max(l.seq) + 1, NEW.id, ARRAY(SELECT jsonb_array_elements_text(v_line -> 'scopes')), v_line ->> 'actor',
        v_line ->> 'request'
    FROM policy_log l
    RETURNING seq INTO STRICT v_seq;
    PERFORM pg_notify('sluice_policy', v_seq::text);
    RETURN NULL;
END
$$;

CREATE CONSTRAINT TRIGGER changes_are_logged AFTER INSERT ON policy_changes
DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION write_policy_log();

-- Claims of idempotency keys run out soon, and the gateway that has one renews it.

-- Until when a claim lasts that is made or renewed now. Gateways renew theirs every second.
CREATE FUNCTION idempotency_claim_end() RETURNS timestamptz
LANGUAGE sql VOLATILE
RETURN clock_timestamp() + interval '5 seconds';

DROP FUNCTION claim_idempotency_key;

-- Claims a key for a request, or tells what is known of it.
--
-- Verdicts: 'fresh', 'interrupted' (it took effect, nobody knows of an answer), 'answered', 'in-flight', 'other-request'. The first
-- three come with the attempt that may act for the key: this one, or the one that answered. 'in-flight' comes with the seconds
-- after which to ask again: soon, where the claim was renewed in the last second; else once it has run out.
CREATE FUNCTION claim_idempotency_key(
    p_id uuid, p_attempt uuid, p_caller text, p_route text, p_key_digest bytea, p_body_digest bytea,
    OUT verdict text, OUT id uuid, OUT attempt uuid, OUT retry_after integer, OUT issuance_ids uuid[], OUT sealed bytea,
    OUT key_id text
)
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    v_row idempotency_keys;
    v_left interval;
BEGIN
    retry_after := 1;
    FOR i IN 1..5 LOOP
        INSERT INTO idempotency_keys AS k (id, caller, route, key_digest, body_digest, attempt, claimed_until)
        VALUES (p_id, p_caller, p_route, p_key_digest, p_body_digest, p_attempt, idempotency_claim_end())
        ON CONFLICT ON CONSTRAINT idempotency_keys_key DO NOTHING;
        IF FOUND THEN
            verdict := 'fresh';
            id := p_id;
            attempt := p_attempt;
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
    v_left := v_row.claimed_until - clock_timestamp();
    IF v_row.body_digest <> p_body_digest THEN
        verdict := 'other-request';
    ELSIF v_row.answered_at IS NOT NULL THEN
        verdict := 'answered';
        attempt := v_row.attempt;
        sealed := v_row.sealed;
        key_id := v_row.key_id;
    ELSIF v_left > interval '0' THEN
        verdict := 'in-flight';
        IF v_left < idempotency_claim_end() - clock_timestamp() - interval '1 second' THEN
            retry_after := ceil(extract(epoch FROM v_left));
        END IF;
    ELSE
        UPDATE idempotency_keys k
        SET attempt = p_attempt, claimed_until = idempotency_claim_end()
        WHERE k.id = v_row.id;
        attempt := p_attempt;
        verdict := CASE
            WHEN v_row.changed_at IS NOT NULL OR cardinality(v_row.issuance_ids) > 0 THEN 'interrupted'
            ELSE 'fresh'
        END;
    END IF;
END
$$;

-- Records a batch of issuances for an idempotency key, each of them once, however often the request comes: writes them with
-- record_issuances and adds them to the key's row; or, where all of them are on record, proves that their decisions still stand
-- and are those on record.
--
-- The order of the statements makes it right: the row of the key first, then the policy lock, then what is read and counted.
--
--   p_key_id, p_attempt   the claim; only the latest attempt for a key may act
--   p_sent_at …           as for record_issuances
-- Answers
--   refusal   NULL; 'gone': the row is no more; 'taken': another attempt acts for the key
--   on_record what is on record, and nothing was done, where that holds some of the items only, or one signed at another instant
--   verdicts … ahead  as record_issuances does; of items on record: 0 proved, -1 stale, -2 not as on record; no counters then
CREATE FUNCTION record_issuances_once(
    p_key_id uuid, p_attempt uuid, p_sent_at timestamptz, p_max_difference double precision,
    p_position_seqs bigint[], p_position_tags uuid[], p_scopes text[],
    p_item_positions integer[], p_scope_ends integer[], p_scope_refs integer[],
    p_uuids uuid[], p_texts text[], p_expires_at timestamptz[], p_content_md5s bytea[], p_content_lengths bigint[],
    p_quota_ids uuid[], p_quota_periods text[], p_quota_flags boolean[], p_quota_limits bigint[],
    p_slot_ends integer[], p_slot_holders text[], p_slot_amounts bigint[], p_one_by_one boolean,
    p_charge_ends integer[], p_charge_quotas uuid[], p_charge_slots integer[], p_charge_amounts bigint[],
    OUT refusal text, OUT on_record uuid[], OUT verdicts integer[], OUT uses bigint[], OUT resets_in integer[],
    OUT ahead double precision
)
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    v_attempt uuid;
    v_recorded uuid[];
    v_tags bytea[];
    v_known integer := 0;
    v_fits integer := 0;
BEGIN
    SELECT k.attempt, k.issuance_ids INTO v_attempt, v_recorded
    FROM idempotency_keys k WHERE k.id = p_key_id FOR UPDATE;
    IF v_attempt IS DISTINCT FROM p_attempt THEN
        refusal := CASE WHEN v_attempt IS NULL THEN 'gone' ELSE 'taken' END;
        RETURN;
    END IF;

    IF cardinality(v_recorded) > 0 THEN
        -- What follows the time in an identifier says which item of the request it is.
        v_tags := ARRAY(SELECT substr(uuid_send(r.id), 7) FROM unnest(v_recorded) AS r (id));
        FOR i IN 1..cardinality(p_expires_at) LOOP
            IF substr(uuid_send(p_uuids[i][1]), 7) = ANY (v_tags) THEN
                v_known := v_known + 1;
            END IF;
            IF p_uuids[i][1] = ANY (v_recorded) THEN
                v_fits := v_fits + 1;
            END IF;
        END LOOP;
    END IF;

    IF v_known = 0 THEN
        SELECT r.verdicts, r.uses, r.resets_in, r.ahead INTO verdicts, uses, resets_in, ahead
        FROM record_issuances(
            p_sent_at, p_max_difference, p_position_seqs, p_position_tags, p_scopes, p_item_positions, p_scope_ends,
            p_scope_refs, p_uuids, p_texts, p_expires_at, p_content_md5s, p_content_lengths,
            p_quota_ids, p_quota_periods, p_quota_flags, p_quota_limits, p_slot_ends, p_slot_holders, p_slot_amounts,
            p_one_by_one, p_charge_ends, p_charge_quotas, p_charge_slots, p_charge_amounts
        ) AS r;
        v_recorded := ARRAY(
            SELECT p_uuids[i][1] FROM generate_series(1, cardinality(p_expires_at)) AS i
            WHERE ahead IS NULL AND (verdicts IS NULL OR verdicts[i] = 0)
        );
        IF cardinality(v_recorded) > 0 THEN
            UPDATE idempotency_keys k
            SET issuance_ids = k.issuance_ids || v_recorded, claimed_until = idempotency_claim_end()
            WHERE k.id = p_key_id;
        END IF;
    ELSIF v_fits = cardinality(p_expires_at) THEN
        verdicts := prove_issuances(
            p_position_seqs, p_position_tags, p_scopes, p_item_positions, p_scope_ends, p_scope_refs,
            p_uuids, p_texts, p_expires_at, p_content_md5s, p_content_lengths
        );
    ELSE
        on_record := v_recorded;
    END IF;
END
$$;

-- Proves that the decisions on issuances still stand, as recording does, and that they are those on record.
--
-- Answers per item: 0 both, -1 stale, -2 not as on record.
CREATE FUNCTION prove_issuances(
    p_position_seqs bigint[], p_position_tags uuid[], p_scopes text[],
    p_item_positions integer[], p_scope_ends integer[], p_scope_refs integer[],
    p_uuids uuid[], p_texts text[], p_expires_at timestamptz[], p_content_md5s bytea[], p_content_lengths bigint[]
) RETURNS integer[]
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    v_verdicts integer[];
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'proving needs read committed' USING ERRCODE = 'invalid_transaction_state';
    END IF;
    -- A statement of its own: the next one sees every change that was answered before.
    PERFORM pg_advisory_xact_lock_shared(7310868744);
    v_verdicts := stale_verdicts(
        p_position_seqs, p_position_tags, p_scopes, p_item_positions, p_scope_ends, p_scope_refs
    );
    RETURN ARRAY(
        SELECT CASE WHEN v_verdicts[p] <> 0 THEN v_verdicts[p] WHEN r.is_same THEN 0 ELSE -2 END
        FROM generate_series(1, cardinality(p_expires_at)) AS p
        LEFT JOIN LATERAL (
            SELECT i.credential_id = p_uuids[p][3] AND i.principal = p_texts[p][1] AND i.delivery = p_texts[p][3]
                AND i.action = p_texts[p][4] AND i.method = p_texts[p][5] AND i.bucket = p_texts[p][6]
                AND i.object_key = p_texts[p][7] AND i.content_type IS NOT DISTINCT FROM p_texts[p][8]
                AND i.expires_at = p_expires_at[p] AND i.content_md5 IS NOT DISTINCT FROM p_content_md5s[p]
                AND i.content_length IS NOT DISTINCT FROM p_content_lengths[p] AS is_same
            FROM issuances i
            WHERE i.id = p_uuids[p][1] AND i.issued_at > statement_timestamp() - interval '26 hours'
        ) r ON true
        ORDER BY p
    );
END
$$;

-- Sets the counters of a quota to zero for an admin, and writes that into the audit: a statement, since recordings wait for the
-- counters.
--
--   p_key_id, p_attempt  the claim of the request's idempotency key, or NULL
-- Answers whether that claim still holds, else nothing was done; and what reset_quota_usage does.
CREATE FUNCTION reset_quota(
    p_quota_id uuid, p_holder text, p_entry_id uuid, p_actor text, p_request_id text, p_key_id uuid, p_attempt uuid,
    OUT is_claimed boolean, OUT holders bigint, OUT released bigint
)
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    PERFORM FROM idempotency_keys k WHERE k.id = p_key_id AND k.attempt = p_attempt FOR UPDATE;
    is_claimed := FOUND OR p_key_id IS NULL;
    IF NOT is_claimed THEN
        RETURN;
    END IF;
    SELECT r.holders, r.released INTO holders, released FROM reset_quota_usage(p_quota_id, p_holder) AS r;
    IF holders IS NULL THEN
        RETURN;
    END IF;
    UPDATE idempotency_keys k
    SET changed_at = clock_timestamp(), claimed_until = idempotency_claim_end()
    WHERE k.id = p_key_id;
    INSERT INTO admin_audit (id, operation, kind, resource_id, actor, request_id, before, after)
    VALUES (
        p_entry_id, 'reset', 'Quota', p_quota_id::text, p_actor, p_request_id,
        jsonb_strip_nulls(jsonb_build_object('holder', p_holder, 'holders', holders, 'used', released)),
        jsonb_strip_nulls(jsonb_build_object('holder', p_holder, 'holders', holders, 'used', 0))
    );
END
$$;
