-- Records a batch of issuances: proves for each that the policy it was decided on still stands, charges its quotas and writes
-- its row, or does none of this.
--
-- The order of the statements is what makes it right. The shared lock is a statement of its own, so that the reads after it
-- see every change that was answered before; a change waits for the exclusive lock until this transaction is over. Counters
-- are taken after the lock and in one order (shared ones last), by everybody who takes more than one of them.
--
-- Arrays run in parallel; references are indexes from 1.
--   p_position_seqs, p_position_tags  the distinct states of policy that decisions rest on
--   p_scopes                          the distinct scopes that they rest on
--   p_item_positions                  per item, its position
--   p_scope_ends, p_scope_refs        per item, where its references to scopes end; the references
--   p_ids … p_request_ids             per item, the columns of its row
--   p_slot_quotas … p_slot_shared     the distinct counters: quota, holder, period, whether it is shared
--   p_charge_ends                     per item, where its charges end
--   p_charge_quotas … p_charge_bytes  per charge: quota, counter, amount, the quota's limit, whether bytes are reserved
-- Answers
--   verdicts   per item: 0 recorded, -1 stale, else the charge that its quota refused
--   remaining  per charge: what is left of the quota after the item, or at its refusal
--   resets_in  per counter: seconds until its next period, NULL for a total
CREATE FUNCTION record_issuances(
    p_position_seqs bigint[], p_position_tags uuid[], p_scopes text[],
    p_item_positions integer[], p_scope_ends integer[], p_scope_refs integer[],
    p_ids uuid[], p_principals text[], p_matched_principals text[], p_grant_ids uuid[], p_credential_ids uuid[],
    p_deliveries text[], p_actions text[], p_methods text[], p_buckets text[], p_object_keys text[],
    p_expires_at timestamptz[], p_content_types text[], p_content_md5s bytea[], p_content_lengths bigint[],
    p_request_ids text[],
    p_slot_quotas uuid[], p_slot_holders text[], p_slot_periods text[], p_slot_shared boolean[],
    p_charge_ends integer[], p_charge_quotas uuid[], p_charge_slots integer[], p_charge_amounts bigint[],
    p_charge_limits bigint[], p_charge_bytes boolean[],
    OUT verdicts integer[], OUT remaining bigint[], OUT resets_in integer[]
)
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    v_items CONSTANT integer := cardinality(p_ids);
    v_charges CONSTANT integer := cardinality(p_charge_slots);
    v_now timestamptz;
    v_starts timestamptz[];
    v_used bigint[];
    v_before bigint[];
    v_first integer := 1;
    v_reserves boolean := false;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'recording needs read committed' USING ERRCODE = 'invalid_transaction_state';
    END IF;
    PERFORM pg_advisory_xact_lock_shared(7310868744);

    -- Usually nothing changed for anybody in the batch since the oldest of its decisions.
    IF (SELECT count(*) FROM unnest(p_position_seqs, p_position_tags) AS p (seq, tag)
            JOIN policy_log l ON l.seq = p.seq AND l.tag = p.tag) = cardinality(p_position_seqs)
        AND NOT EXISTS (
            SELECT FROM policy_log l
            WHERE l.seq > (SELECT min(p.seq) FROM unnest(p_position_seqs) AS p (seq)) AND l.scopes && (p_scopes || 'all'::text)
        )
    THEN
        verdicts := array_fill(0, ARRAY[v_items]);
    ELSE
        verdicts := stale_verdicts(
            p_position_seqs, p_position_tags, p_scopes, p_item_positions, p_scope_ends, p_scope_refs
        );
        IF NOT 0 = ANY (verdicts) THEN
            remaining := array_fill(0::bigint, ARRAY[v_charges]);
            resets_in := array_fill(NULL::integer, ARRAY[cardinality(p_slot_quotas)]);
            RETURN;
        END IF;
    END IF;

    v_now := clock_timestamp();
    IF v_charges > 0 THEN
        SELECT array_agg(s.starts_at ORDER BY s.slot), array_agg(s.resets_in ORDER BY s.slot)
        INTO v_starts, resets_in
        FROM (
            SELECT t.slot, quota_period_start(t.period, v_now) AS starts_at,
                ceil(extract(epoch FROM quota_period_end(t.period, quota_period_start(t.period, v_now)) - v_now))::integer
                    AS resets_in
            FROM unnest(p_slot_periods) WITH ORDINALITY AS t (period, slot)
        ) s;

        INSERT INTO quota_usage (quota_id, holder, period_start, shared, used)
        SELECT s.quota_id, s.holder, s.period_start, s.shared, 0
        FROM unnest(p_slot_quotas, p_slot_holders, v_starts, p_slot_shared) AS s (quota_id, holder, period_start, shared)
        WHERE NOT EXISTS (
            SELECT FROM quota_usage u
            WHERE u.quota_id = s.quota_id AND u.holder = s.holder AND u.period_start = s.period_start
        )
        ORDER BY s.shared, s.quota_id, s.holder COLLATE "C", s.period_start
        ON CONFLICT DO NOTHING;

        SELECT array_agg(l.used ORDER BY l.slot) INTO v_used
        FROM (
            SELECT s.slot, u.used
            FROM unnest(p_slot_quotas, p_slot_holders, v_starts) WITH ORDINALITY
                AS s (quota_id, holder, period_start, slot)
            JOIN quota_usage u
                ON u.quota_id = s.quota_id AND u.holder = s.holder AND u.period_start = s.period_start
            ORDER BY u.shared, u.quota_id, u.holder, u.period_start
            FOR UPDATE OF u
        ) l;
        IF cardinality(v_used) IS DISTINCT FROM cardinality(p_slot_quotas) THEN
            RAISE EXCEPTION 'a counter is missing' USING ERRCODE = 'serialization_failure';
        END IF;

        v_before := v_used;
        remaining := array_fill(0::bigint, ARRAY[v_charges]);
        FOR v_item IN 1..v_items LOOP
            IF verdicts[v_item] = 0 THEN
                FOR v_charge IN v_first..p_charge_ends[v_item] LOOP
                    remaining[v_charge] := p_charge_limits[v_charge] - v_used[p_charge_slots[v_charge]];
                    IF p_charge_amounts[v_charge] > remaining[v_charge] THEN
                        verdicts[v_item] := v_charge;
                        FOR v_undone IN v_first..v_charge - 1 LOOP
                            v_used[p_charge_slots[v_undone]] := v_used[p_charge_slots[v_undone]] - p_charge_amounts[v_undone];
                        END LOOP;
                        EXIT;
                    END IF;
                    remaining[v_charge] := remaining[v_charge] - p_charge_amounts[v_charge];
                    v_used[p_charge_slots[v_charge]] := v_used[p_charge_slots[v_charge]] + p_charge_amounts[v_charge];
                END LOOP;
            END IF;
            v_first := p_charge_ends[v_item] + 1;
        END LOOP;

        UPDATE quota_usage u
        SET used = s.used
        FROM unnest(p_slot_quotas, p_slot_holders, v_starts, v_used, v_before)
            AS s (quota_id, holder, period_start, used, used_before)
        WHERE u.quota_id = s.quota_id AND u.holder = s.holder AND u.period_start = s.period_start
            AND s.used <> s.used_before;
        v_reserves := true = ANY (p_charge_bytes);
    ELSE
        remaining := '{}';
        resets_in := '{}';
    END IF;

    -- One item is frequent when little is going on, and is not worth eighteen scans of arrays.
    IF v_items > 1 THEN
        INSERT INTO issuances (
            id, issued_at, policy_seq, principal, matched_principal, grant_id, credential_id, delivery, action, method, bucket,
            object_key, expires_at, content_type, content_md5, content_length, request_id, quota_ids, quota_amounts
        )
        SELECT i.id, v_now, p_position_seqs[i.position], i.principal, i.matched_principal, i.grant_id, i.credential_id,
            i.delivery, i.action, i.method, i.bucket, i.object_key, i.expires_at, i.content_type, i.content_md5,
            i.content_length, i.request_id,
            CASE WHEN i.charge_end > i.charged THEN p_charge_quotas[i.charged + 1:i.charge_end] END,
            CASE WHEN i.charge_end > i.charged THEN p_charge_amounts[i.charged + 1:i.charge_end] END
        FROM unnest(
            verdicts, p_item_positions, p_ids, p_principals, p_matched_principals, p_grant_ids, p_credential_ids, p_deliveries,
            p_actions, p_methods, p_buckets, p_object_keys, p_expires_at, p_content_types, p_content_md5s, p_content_lengths,
            p_request_ids, 0 || p_charge_ends, p_charge_ends
        ) AS i (
            verdict, position, id, principal, matched_principal, grant_id, credential_id, delivery,
            action, method, bucket, object_key, expires_at, content_type, content_md5, content_length,
            request_id, charged, charge_end
        )
        WHERE i.verdict = 0;
    ELSIF verdicts[1] = 0 THEN
        INSERT INTO issuances (
            id, issued_at, policy_seq, principal, matched_principal, grant_id, credential_id, delivery, action, method, bucket,
            object_key, expires_at, content_type, content_md5, content_length, request_id, quota_ids, quota_amounts
        )
        VALUES (
            p_ids[1], v_now, p_position_seqs[1], p_principals[1], p_matched_principals[1], p_grant_ids[1], p_credential_ids[1],
            p_deliveries[1], p_actions[1], p_methods[1], p_buckets[1], p_object_keys[1], p_expires_at[1], p_content_types[1],
            p_content_md5s[1], p_content_lengths[1], p_request_ids[1],
            CASE WHEN v_charges > 0 THEN p_charge_quotas END, CASE WHEN v_charges > 0 THEN p_charge_amounts END
        );
    END IF;

    IF v_reserves THEN
        INSERT INTO reservations (
            issuance_id, quota_id, holder, period_start, amount, bucket, object_key, dead_at, check_at
        )
        SELECT p_ids[i.item], p_charge_quotas[n], p_slot_holders[s.slot], v_starts[s.slot], p_charge_amounts[n],
            p_buckets[i.item], p_object_keys[i.item], p_expires_at[i.item], p_expires_at[i.item]
        FROM unnest(verdicts, p_charge_ends) WITH ORDINALITY AS i (verdict, charge_end, item)
        CROSS JOIN LATERAL generate_series(coalesce(p_charge_ends[i.item - 1], 0) + 1, i.charge_end) AS n
        CROSS JOIN LATERAL (SELECT p_charge_slots[n] AS slot) s
        WHERE i.verdict = 0 AND p_charge_bytes[n] AND p_charge_amounts[n] > 0;
    END IF;
END
$$;

-- Which items of a batch rest on policy that changed: -1 for those, 0 for the others. Only to be called under the lock of
-- record_issuances; VOLATILE, so that it reads what is committed by then.
CREATE FUNCTION stale_verdicts(
    p_position_seqs bigint[], p_position_tags uuid[], p_scopes text[],
    p_item_positions integer[], p_scope_ends integer[], p_scope_refs integer[]
) RETURNS integer[]
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    RETURN (
        WITH changes AS MATERIALIZED (
            SELECT l.seq, l.scopes
            FROM policy_log l
            WHERE l.seq > (SELECT min(p.seq) FROM unnest(p_position_seqs) AS p (seq)) AND l.scopes && (p_scopes || 'all'::text)
        )
        SELECT array_agg(
            CASE WHEN EXISTS (
                SELECT FROM policy_log l
                WHERE l.seq = p_position_seqs[i.position] AND l.tag = p_position_tags[i.position]
            ) AND NOT EXISTS (
                SELECT FROM changes c
                WHERE c.seq > p_position_seqs[i.position] AND c.scopes && (i.scopes || 'all'::text)
            ) THEN 0 ELSE -1 END
            ORDER BY i.item
        )
        FROM (
            SELECT t.item, t.position, ARRAY(
                SELECT p_scopes[p_scope_refs[n]]
                FROM generate_series(coalesce(p_scope_ends[t.item - 1], 0) + 1, t.scope_end) AS n
            ) AS scopes
            FROM unnest(p_item_positions, p_scope_ends) WITH ORDINALITY AS t (position, scope_end, item)
        ) i
    );
END
$$;
