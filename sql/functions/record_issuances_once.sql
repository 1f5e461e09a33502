-- Records a batch of issuances for an idempotency key, each of them once, however often the request arrives. Items that
-- are new are recorded by record_issuances and added to the key's row. Where all items are on record already, they are
-- proved and compared by prove_issuances, so that they can be signed again.
--
-- The order of the statements makes it right: first the key's row, then the policy lock, then what is read and counted.
--
-- Arguments
--   p_key_id, p_attempt          the claim of the key; only the latest attempt may act
--   p_sent_at, p_max_difference  and all that follow: as those of record_issuances
-- Result
--   refusal    NULL; or 'gone': the row of the key does not exist any more; or 'taken': another attempt acts for the
--              key. Then nothing was done.
--   on_record  NULL; or the issuances on record, where these are some of the items only, or were signed at another
--              instant. Then nothing was done.
--   verdicts … ahead  as those of record_issuances. For items on record there are verdicts alone: 0 proved, -1 stale,
--              -2 other than on record, or of a bucket that was changed since.
-- Locks: the row of the key; then those of record_issuances.
-- Callers: the gateway's role, one statement in a transaction of its own. Errors: those of record_issuances.
CREATE OR REPLACE FUNCTION record_issuances_once(
    p_key_id uuid, p_attempt uuid, p_sent_at timestamptz, p_max_difference double precision,
    p_position_seqs bigint[], p_position_tags uuid[], p_scopes text[],
    p_item_positions integer[], p_scope_ends integer[], p_scope_refs integer[],
    p_ids uuid[], p_principals text[], p_matched_principals text[], p_grant_ids uuid[], p_credential_ids uuid[],
    p_deliveries text[], p_actions text[], p_methods text[], p_buckets text[], p_object_keys text[],
    p_expires_at timestamptz[], p_content_types text[], p_content_md5s bytea[], p_content_lengths bigint[],
    p_request_ids text[],
    p_quota_ids uuid[], p_quota_periods text[], p_quota_shared boolean[], p_quota_reserves boolean[],
    p_quota_limits bigint[],
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
        -- The bytes after the time in an identifier are derived from the item of the request.
        v_tags := ARRAY(SELECT substr(uuid_send(r.id), 7) FROM unnest(v_recorded) AS r (id));
        FOR i IN 1..cardinality(p_ids) LOOP
            IF substr(uuid_send(p_ids[i]), 7) = ANY (v_tags) THEN
                v_known := v_known + 1;
            END IF;
            IF p_ids[i] = ANY (v_recorded) THEN
                v_fits := v_fits + 1;
            END IF;
        END LOOP;
    END IF;

    IF v_known = 0 THEN
        SELECT r.verdicts, r.uses, r.resets_in, r.ahead INTO verdicts, uses, resets_in, ahead
        FROM record_issuances(
            p_sent_at, p_max_difference, p_position_seqs, p_position_tags, p_scopes, p_item_positions, p_scope_ends,
            p_scope_refs, p_ids, p_principals, p_matched_principals, p_grant_ids, p_credential_ids, p_deliveries,
            p_actions, p_methods, p_buckets, p_object_keys, p_expires_at, p_content_types, p_content_md5s,
            p_content_lengths, p_request_ids, p_quota_ids, p_quota_periods, p_quota_shared, p_quota_reserves,
            p_quota_limits, p_slot_ends, p_slot_holders, p_slot_amounts, p_one_by_one, p_charge_ends, p_charge_quotas,
            p_charge_slots, p_charge_amounts
        ) AS r;
        v_recorded := ARRAY(
            SELECT p_ids[i] FROM generate_series(1, cardinality(p_ids)) AS i
            WHERE ahead IS NULL AND (verdicts IS NULL OR verdicts[i] = 0)
        );
        IF cardinality(v_recorded) > 0 THEN
            UPDATE idempotency_keys k
            SET issuance_ids = k.issuance_ids || v_recorded, claimed_until = idempotency_claim_end()
            WHERE k.id = p_key_id;
        END IF;
    ELSIF v_fits = cardinality(p_ids) THEN
        verdicts := prove_issuances(
            p_position_seqs, p_position_tags, p_scopes, p_item_positions, p_scope_ends, p_scope_refs,
            p_ids, p_principals, p_credential_ids, p_deliveries, p_actions, p_methods, p_buckets, p_object_keys,
            p_expires_at, p_content_types, p_content_md5s, p_content_lengths, p_charge_ends, p_charge_amounts
        );
    ELSE
        on_record := v_recorded;
    END IF;
END
$$;
