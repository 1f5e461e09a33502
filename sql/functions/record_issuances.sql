-- Records a batch of issuances: for each, proves that the policy it was decided on still holds, charges its quotas and
-- writes its row; or does none of the three. Each item has a verdict of its own; all are committed together.
--
-- The order of the statements makes the proof valid, as in record_issuance: the policy lock is a statement of its own,
-- and the counters are locked after it. Whoever locks more than one counter locks them in one order: shared ones last,
-- then by quota, holder and period. The caller sends quotas and counters in that order, and each statement takes them
-- as they come.
--
-- Arguments are arrays, one for each column, that run in parallel. References are positions in other arrays, from 1.
-- (Two-dimensional arrays of all texts and all UUIDs would be fewer, and were measured: they save 1 % of the time of a
-- batch of 64, and 3 % of a batch of 2.)
--   p_sent_at, p_max_difference   the gateway's clock when it sent the statement, and the seconds by which the
--                                 database's may differ from it
--   Positions, the distinct states of policy that the decisions rest on:
--     p_position_seqs, p_position_tags   number and tag of a line of policy_log
--   Scopes, the distinct ones that the decisions rest on; 'all' is implied:
--     p_scopes
--   Items, their proof:
--     p_item_positions            reference to the item's position
--     p_scope_ends                where the item's references to scopes end in p_scope_refs; they begin after the
--                                 previous item's
--     p_scope_refs                the references to scopes of all items, one item after another
--   Items, their rows in issuances:
--     p_ids, p_principals, p_matched_principals, p_grant_ids, p_credential_ids, p_deliveries, p_actions, p_methods,
--     p_buckets, p_object_keys, p_expires_at, p_content_types, p_content_md5s, p_content_lengths, p_request_ids
--   Quotas, each once:
--     p_quota_ids, p_quota_periods, p_quota_limits
--     p_quota_shared              whether several principals share its counter
--     p_quota_reserves            whether it counts bytes, which are reserved until the upload is settled
--     p_slot_ends                 where its counters end in p_slot_holders; they begin after the previous quota's
--   Counters ("slots"), each once, one quota's after another's:
--     p_slot_holders              the principal whose use is counted
--     p_slot_amounts              what all items together take from it; 0 where that exceeds the quota's limit
--     p_one_by_one                whether it exceeds the limit for any counter
--   Charges, one item's after another's:
--     p_charge_ends               0, and then for each item where its charges end
--     p_charge_quotas             the quota's identifier
--     p_charge_slots              reference to the counter
--     p_charge_amounts            what to charge, in the quota's metric
-- Result
--   verdicts   for each item: 0 recorded, -1 stale, else the number of the charge that its quota refused; NULL where
--              all items are recorded
--   uses       for each counter: what is used of it now; NULL where all items are stale or none charges a quota
--   resets_in  for each quota: seconds until its next period, NULL for a total
--   ahead      the seconds by which the database's clock is ahead, where they are too many (negative: behind): then
--              nothing is recorded and the other results are NULL; else NULL
-- Locks: the policy lock, shared; then the counters. Both until the transaction ends.
-- Callers: the gateway's role, one statement in a transaction of its own; record_issuances_once.
-- Errors: invalid_transaction_state outside READ COMMITTED; check_violation of issuance_action_check or
-- issuance_method_check where a credential permits several actions or binds no method and may not;
-- check_violation of the domains of the columns.
CREATE OR REPLACE FUNCTION record_issuances(
    p_sent_at timestamptz, p_max_difference double precision,
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
    OUT verdicts integer[], OUT uses bigint[], OUT resets_in integer[], OUT ahead double precision
)
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    v_ahead double precision := date_part('epoch', statement_timestamp() - p_sent_at);
    v_lock text;
    v_is_latest boolean;
    v_now timestamptz;
    v_start timestamptz;
    v_starts timestamptz[];
    v_quotas integer[];
    v_first integer := 1;
    v_limit bigint;
    v_taken bigint[] := p_slot_amounts;
    v_holders text[];
    v_uses bigint[];
    v_used bigint[];
    v_next integer;
    v_room bigint;
    v_slot integer;
    v_reserves boolean := false;
    v_actions text;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'recording needs read committed' USING ERRCODE = 'invalid_transaction_state';
    END IF;
    -- Compared with the time at which the statement arrived, so that waiting for locks does not count.
    IF abs(v_ahead) <= p_max_difference IS NOT TRUE THEN
        ahead := v_ahead;
        RETURN;
    END IF;
    -- An assignment, since PERFORM would start the executor.
    v_lock := pg_advisory_xact_lock_shared(advisory_lock('policy'));

    -- In most calls nothing has changed since the decisions, or nothing that concerns this batch.
    SELECT l.seq = ALL (p_position_seqs) AND l.tag = ALL (p_position_tags) INTO v_is_latest
    FROM policy_log l ORDER BY l.seq DESC LIMIT 1;
    IF v_is_latest IS NOT TRUE THEN
        IF (SELECT count(*) FROM unnest(p_position_seqs, p_position_tags) AS p (seq, tag)
                JOIN policy_log l ON l.seq = p.seq AND l.tag = p.tag) < cardinality(p_position_seqs)
            OR EXISTS (
                SELECT FROM policy_log l
                WHERE l.seq > (SELECT min(p.seq) FROM unnest(p_position_seqs) AS p (seq))
                    AND l.scopes && (p_scopes || 'all'::text)
            )
        THEN
            verdicts := stale_verdicts(
                p_position_seqs, p_position_tags, p_scopes, p_item_positions, p_scope_ends, p_scope_refs
            );
            IF NOT 0 = ANY (verdicts) THEN
                RETURN;
            ELSIF 0 = ALL (verdicts) THEN
                verdicts := NULL;
            ELSE
                v_taken := array_fill(0::bigint, ARRAY[cardinality(p_slot_holders)]);
            END IF;
        END IF;
    END IF;

    v_now := clock_timestamp();
    FOR v_quota IN 1..cardinality(p_quota_ids) LOOP
        v_start := quota_period_start(p_quota_periods[v_quota], v_now);
        resets_in[v_quota] := ceil(date_part('epoch', quota_period_end(p_quota_periods[v_quota], v_start) - v_now));
        v_starts[v_quota] := v_start;

        -- Locks every counter that exists, also one without room.
        v_limit := p_quota_limits[v_quota];
        v_reserves := v_reserves OR p_quota_reserves[v_quota];
        WITH taken AS (
            INSERT INTO quota_usage AS u (quota_id, holder, period_start, shared, used)
            SELECT p_quota_ids[v_quota], p_slot_holders[s], v_starts[v_quota], p_quota_shared[v_quota], v_taken[s]
            FROM generate_series(v_first, p_slot_ends[v_quota]) AS s
            ON CONFLICT (quota_id, holder, period_start) DO UPDATE SET used = u.used + excluded.used
            WHERE u.used <= v_limit - excluded.used
            RETURNING u.holder, u.used
        )
        SELECT array_agg(t.holder), array_agg(t.used) INTO v_holders, v_uses FROM taken t;

        IF cardinality(v_uses) IS DISTINCT FROM p_slot_ends[v_quota] - v_first + 1 THEN
            p_one_by_one := true;
            v_next := 1;
            FOR s IN v_first..p_slot_ends[v_quota] LOOP
                IF v_holders[v_next] = p_slot_holders[s] THEN
                    uses[s] := v_uses[v_next];
                    v_next := v_next + 1;
                ELSE
                    v_taken[s] := 0;
                    uses[s] := (
                        SELECT u.used
                        FROM quota_usage u
                        WHERE u.quota_id = p_quota_ids[v_quota] AND u.holder = p_slot_holders[s]
                            AND u.period_start = v_start
                    );
                END IF;
            END LOOP;
        ELSE
            uses := uses || v_uses;
        END IF;
        v_first := p_slot_ends[v_quota] + 1;
    END LOOP;

    -- The quota of each counter, which few calls need.
    IF p_one_by_one OR verdicts IS NOT NULL OR v_reserves THEN
        v_next := 1;
        FOR s IN 1..cardinality(p_slot_holders) LOOP
            WHILE s > p_slot_ends[v_next] LOOP
                v_next := v_next + 1;
            END LOOP;
            v_quotas[s] := v_next;
        END LOOP;
    END IF;

    -- All counters are locked. Items are admitted in their order, starting from what was used before this call.
    IF p_one_by_one OR verdicts IS NOT NULL THEN
        verdicts := coalesce(verdicts, array_fill(0, ARRAY[cardinality(p_ids)]));
        FOR s IN 1..cardinality(p_slot_holders) LOOP
            v_used[s] := uses[s] - v_taken[s];
        END LOOP;
        FOR i IN 1..cardinality(p_ids) LOOP
            CONTINUE WHEN verdicts[i] <> 0;
            FOR c IN p_charge_ends[i] + 1..p_charge_ends[i + 1] LOOP
                v_slot := p_charge_slots[c];
                v_room := p_quota_limits[v_quotas[v_slot]] - v_used[v_slot];
                IF p_charge_amounts[c] > v_room THEN
                    verdicts[i] := c;
                    FOR d IN p_charge_ends[i] + 1..c - 1 LOOP
                        v_used[p_charge_slots[d]] := v_used[p_charge_slots[d]] - p_charge_amounts[d];
                    END LOOP;
                    EXIT;
                END IF;
                v_used[v_slot] := v_used[v_slot] + p_charge_amounts[c];
            END LOOP;
        END LOOP;
        UPDATE quota_usage u
        SET used = v_used[s]
        FROM generate_series(1, cardinality(p_slot_holders)) AS s
        WHERE u.quota_id = p_quota_ids[v_quotas[s]] AND u.holder = p_slot_holders[s]
            AND u.period_start = v_starts[v_quotas[s]] AND v_used[s] <> uses[s];
        uses := v_used;
    END IF;

    -- Few credentials permit several actions, and only sessions bind no method. No column alone can tell. Items that
    -- are not recorded are not held to it. One text of all actions answers quickly for most batches.
    v_actions := array_to_string(p_actions, ' ');
    IF strpos(v_actions, ',') > 0 OR '*' = ANY (p_methods) THEN
        FOR i IN 1..cardinality(p_ids) LOOP
            IF (verdicts IS NULL OR verdicts[i] = 0)
                AND (
                    strpos(p_actions[i], ',') > 0 AND p_deliveries[i] NOT IN ('sts', 'cdn-cookies')
                    OR p_methods[i] = '*' AND p_deliveries[i] <> 'sts'
                )
            THEN
                PERFORM refuse_action_or_method(p_deliveries[i], p_methods[i]);
            END IF;
        END LOOP;
    END IF;
    INSERT INTO issuances (
        id, issued_at, policy_seq, principal, matched_principal, grant_id, credential_id, delivery, action, method,
        bucket, object_key, expires_at, content_type, content_md5, content_length, request_id, quota_ids, quota_amounts
    )
    SELECT p_ids[i], v_now, p_position_seqs[p_item_positions[i]], p_principals[i], p_matched_principals[i],
        p_grant_ids[i], p_credential_ids[i], p_deliveries[i], p_actions[i], p_methods[i], p_buckets[i],
        p_object_keys[i], p_expires_at[i], p_content_types[i], p_content_md5s[i], p_content_lengths[i],
        p_request_ids[i],
        CASE p_charge_ends[i + 1] - p_charge_ends[i]
            WHEN 0 THEN NULL WHEN 1 THEN ARRAY[p_charge_quotas[p_charge_ends[i + 1]]]
            ELSE p_charge_quotas[p_charge_ends[i] + 1:p_charge_ends[i + 1]] END,
        CASE p_charge_ends[i + 1] - p_charge_ends[i]
            WHEN 0 THEN NULL WHEN 1 THEN ARRAY[p_charge_amounts[p_charge_ends[i + 1]]]
            ELSE p_charge_amounts[p_charge_ends[i] + 1:p_charge_ends[i + 1]] END
    FROM generate_series(1, cardinality(p_ids)) AS i
    WHERE verdicts IS NULL OR verdicts[i] = 0;

    -- Whoever may delete an object can hide that it arrived; at Alibaba OSS also a session that uploads (see
    -- record_issuance).
    IF strpos(v_actions, 'DeleteObject') > 0 OR 'sts' = ANY (p_deliveries) THEN
        INSERT INTO deletions (principal, issuance_id, bucket, object_key, dead_at)
        SELECT p_principals[i], p_ids[i], p_buckets[i], p_object_keys[i],
            greatest(p_expires_at[i], v_now + (p_expires_at[i] - p_sent_at))
        FROM generate_series(1, cardinality(p_ids)) AS i
        WHERE (verdicts IS NULL OR verdicts[i] = 0)
            AND (
                strpos(p_actions[i], 'DeleteObject') > 0
                OR p_deliveries[i] = 'sts' AND strpos(p_actions[i], 'PutObject') > 0
                    AND EXISTS (SELECT FROM buckets b WHERE b.name = p_buckets[i] AND b.provider = 'oss')
            );
    END IF;
    IF v_reserves THEN
        INSERT INTO reservations (
            issuance_id, quota_id, holder, period_start, amount, issued_at, policy_seq, principal, matched_principal,
            grant_id, credential_id, delivery, action, bucket, object_key, dead_at, check_at
        )
        SELECT p_ids[i], p_charge_quotas[c], p_slot_holders[s.slot], v_starts[v_quotas[s.slot]], p_charge_amounts[c],
            v_now, p_position_seqs[p_item_positions[i]], p_principals[i], p_matched_principals[i], p_grant_ids[i],
            p_credential_ids[i], p_deliveries[i], p_actions[i], p_buckets[i], p_object_keys[i], d.dead_at, d.dead_at
        FROM generate_series(1, cardinality(p_ids)) AS i
        CROSS JOIN LATERAL generate_series(p_charge_ends[i] + 1, p_charge_ends[i + 1]) AS c
        CROSS JOIN LATERAL (SELECT p_charge_slots[c] AS slot) s
        CROSS JOIN LATERAL (
            SELECT greatest(p_expires_at[i], v_now + (p_expires_at[i] - p_sent_at)) AS dead_at
        ) d
        WHERE (verdicts IS NULL OR verdicts[i] = 0) AND p_quota_reserves[v_quotas[s.slot]] AND p_charge_amounts[c] > 0;
    END IF;
END
$$;
