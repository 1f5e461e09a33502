-- Recording compares the clocks of gateway and database, which meet in its statement alone: where they differ by more than the
-- gateway allows, nothing is recorded. And what is reserved lives until the URL is dead by the later of both clocks.

DROP FUNCTION record_issuance;
DROP FUNCTION record_issuances;

-- Records one issuance that charges at most one quota: proves that the policy it was decided on still stands, charges the
-- quota and writes its row, or does none of this.
--
-- The order of the statements is what makes it right. The shared lock is a statement of its own, so that the reads after it
-- see every change that was answered before; a change waits for the exclusive lock until this transaction is over. The
-- counter is taken after the lock.
--
--   p_sent_at, p_max_difference     the gateway's clock when it sent the statement; seconds that the database's may differ from it
--   p_position_seq, p_position_tag  the state of policy that the decision rests on
--   p_scopes                        the scopes that it rests on
--   p_id … p_request_id             the columns of its row
--   p_quota_id … p_reserves         the quota, whose use is counted, its period, whether that use is shared, what is charged,
--                                   the quota's limit, whether bytes are reserved; NULL without a quota
-- Answers the verdict (0 recorded, -1 stale, 1 refused by the quota) and, where the quota was looked at, what is used of it now
-- and the seconds until its next period (NULL for a total). Where the clocks differ too much: -2, and the milliseconds by which
-- the database's is ahead.
CREATE FUNCTION record_issuance(
    p_sent_at timestamptz, p_max_difference double precision, p_position_seq bigint, p_position_tag uuid,
    p_scopes text[],
    p_id uuid, p_principal text, p_matched_principal text, p_grant_id uuid, p_credential_id uuid,
    p_delivery text, p_action text, p_method text, p_bucket text, p_object_key text,
    p_expires_at timestamptz, p_content_type text, p_content_md5 bytea, p_content_length bigint, p_request_id text,
    p_quota_id uuid, p_holder text, p_period text, p_shared boolean, p_amount bigint, p_limit bigint, p_reserves boolean
) RETURNS bigint[]
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    v_ahead double precision := date_part('epoch', statement_timestamp() - p_sent_at);
    v_lock text;
    v_is_latest boolean;
    v_now timestamptz;
    v_seconds bigint;
    v_length bigint;
    v_start timestamptz;
    v_resets_in bigint;
    v_used bigint;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'recording needs read committed' USING ERRCODE = 'invalid_transaction_state';
    END IF;
    -- By the time at which the statement arrived: what it waits for here is no difference.
    IF abs(v_ahead) <= p_max_difference IS NOT TRUE THEN
        RETURN ARRAY[-2, (1000 * v_ahead)::bigint];
    END IF;
    -- Assigned, since PERFORM would start the executor for it.
    v_lock := pg_advisory_xact_lock_shared(7310868744);

    -- Usually nothing changed for anybody since the decision.
    SELECT l.seq = p_position_seq AND l.tag = p_position_tag INTO v_is_latest
    FROM policy_log l ORDER BY l.seq DESC LIMIT 1;
    IF v_is_latest IS NOT TRUE THEN
        IF NOT EXISTS (SELECT FROM policy_log l WHERE l.seq = p_position_seq AND l.tag = p_position_tag)
            OR EXISTS (
                SELECT FROM policy_log l WHERE l.seq > p_position_seq AND l.scopes && (p_scopes || 'all'::text)
            )
        THEN
            RETURN '{-1}';
        END IF;
    END IF;

    v_now := clock_timestamp();
    IF p_quota_id IS NOT NULL THEN
        -- As quota_period_start and quota_period_end say, at a third of their cost.
        v_seconds := floor(date_part('epoch', v_now));
        v_length := CASE p_period WHEN 'day' THEN 86400 WHEN 'hour' THEN 3600 WHEN 'minute' THEN 60 END;
        IF v_length IS NOT NULL THEN
            v_resets_in := v_length - v_seconds % v_length;
            v_start := to_timestamp(v_seconds - v_seconds % v_length);
        ELSE
            v_start := quota_period_start(p_period, v_now);
            v_resets_in := ceil(extract(epoch FROM quota_period_end(p_period, v_start) - v_now));
        END IF;
        LOOP
            UPDATE quota_usage u
            SET used = u.used + p_amount
            WHERE u.quota_id = p_quota_id AND u.holder = p_holder AND u.period_start = v_start
                AND u.used <= p_limit - p_amount
            RETURNING u.used INTO v_used;
            EXIT WHEN FOUND;
            SELECT u.used INTO v_used
            FROM quota_usage u
            WHERE u.quota_id = p_quota_id AND u.holder = p_holder AND u.period_start = v_start;
            IF p_amount > p_limit - coalesce(v_used, 0) THEN
                RETURN ARRAY[1, coalesce(v_used, 0), v_resets_in];
            END IF;
            -- Nobody has used it yet in this period, or room was made only just now.
            INSERT INTO quota_usage (quota_id, holder, period_start, shared, used)
            VALUES (p_quota_id, p_holder, v_start, p_shared, 0)
            ON CONFLICT DO NOTHING;
        END LOOP;
    END IF;

    INSERT INTO issuances (
        id, issued_at, policy_seq, principal, matched_principal, grant_id, credential_id, delivery, action, method, bucket,
        object_key, expires_at, content_type, content_md5, content_length, request_id, quota_ids, quota_amounts
    )
    VALUES (
        p_id, v_now, p_position_seq, p_principal, p_matched_principal, p_grant_id, p_credential_id, p_delivery,
        -- Only temporary credentials permit two things, and bind no method. '' is none of either.
        CASE WHEN p_action <> 'PutObject,GetObject' OR p_delivery = 'sts' THEN p_action ELSE '' END,
        CASE WHEN p_method <> '*' OR p_delivery = 'sts' THEN p_method ELSE '' END,
        p_bucket, p_object_key, p_expires_at, p_content_type, p_content_md5, p_content_length, p_request_id,
        CASE WHEN p_quota_id IS NOT NULL THEN ARRAY[p_quota_id] END,
        CASE WHEN p_quota_id IS NOT NULL THEN ARRAY[p_amount] END
    );
    IF p_reserves AND p_amount > 0 THEN
        INSERT INTO reservations (
            issuance_id, quota_id, holder, period_start, amount, bucket, object_key, dead_at, check_at
        )
        VALUES (
            p_id, p_quota_id, p_holder, v_start, p_amount, p_bucket, p_object_key,
            greatest(p_expires_at, v_now + (p_expires_at - p_sent_at)),
            greatest(p_expires_at, v_now + (p_expires_at - p_sent_at))
        );
    END IF;
    RETURN ARRAY[0, v_used, v_resets_in];
END
$$;

-- Records a batch of issuances: proves for each that the policy it was decided on still stands, charges its quotas and writes
-- its row, or does none of this.
--
-- The order of the statements makes it right as it does record_issuance. Counters are taken after the lock and in one order
-- (shared ones last, then by quota, holder and period), by everybody who takes more than one of them: the caller sends them in
-- that order, and each statement takes its counters in the order of its source, those that have no room too.
--
-- Arrays run in parallel, some have a second dimension (fewer arrays are fewer to read); references are indexes from 1.
--   p_sent_at, p_max_difference       the gateway's clock when it sent the statement; seconds that the database's may differ from it
--   p_position_seqs, p_position_tags  the distinct states of policy that decisions rest on
--   p_scopes                          the distinct scopes that they rest on
--   p_item_positions                  per item, its position
--   p_scope_ends, p_scope_refs        per item, where its references to scopes end; the references
--   p_uuids                           per item: its id, grant and credential
--   p_texts                           per item: principal, matched principal, delivery, action, method, bucket, object key,
--                                     content type, request
--   p_expires_at … p_content_lengths  per item, further columns of its row
--   p_quota_ids … p_quota_limits      the distinct quotas: identifier, period, whether uses are shared and whether bytes are
--                                     reserved, limit
--   p_slot_ends                       per quota, where its counters end
--   p_slot_holders, p_slot_amounts    per counter: its holder, what all items together take from it
--   p_one_by_one                      whether that is more than its limit somewhere; there, p_slot_amounts is 0
--   p_charge_ends                     0, then per item where its charges end
--   p_charge_quotas … p_charge_amounts  per charge: the quota's identifier, counter, amount
-- Answers
--   verdicts   per item: 0 recorded, -1 stale, else the charge that its quota refused; NULL where all are recorded
--   uses       per counter: what is used of it now; NULL where all items are stale
--   resets_in  per quota: seconds until its next period, NULL for a total
--   ahead      seconds by which the database's clock is ahead, where that is too much; nothing is recorded then, and all others
--              are NULL
CREATE FUNCTION record_issuances(
    p_sent_at timestamptz, p_max_difference double precision,
    p_position_seqs bigint[], p_position_tags uuid[], p_scopes text[],
    p_item_positions integer[], p_scope_ends integer[], p_scope_refs integer[],
    p_uuids uuid[], p_texts text[], p_expires_at timestamptz[], p_content_md5s bytea[], p_content_lengths bigint[],
    p_quota_ids uuid[], p_quota_periods text[], p_quota_flags boolean[], p_quota_limits bigint[],
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
    v_seconds bigint;
    v_length integer;
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
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'recording needs read committed' USING ERRCODE = 'invalid_transaction_state';
    END IF;
    -- By the time at which the statement arrived: what it waits for here is no difference.
    IF abs(v_ahead) <= p_max_difference IS NOT TRUE THEN
        ahead := v_ahead;
        RETURN;
    END IF;
    -- Assigned, since PERFORM would start the executor for it.
    v_lock := pg_advisory_xact_lock_shared(7310868744);

    -- Usually nothing changed for anybody since the decisions, or for nobody in the batch.
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
    v_seconds := floor(date_part('epoch', v_now));
    FOR v_quota IN 1..cardinality(p_quota_ids) LOOP
        -- As quota_period_start and quota_period_end say, at a third of their cost.
        v_length := CASE p_quota_periods[v_quota] WHEN 'day' THEN 86400 WHEN 'hour' THEN 3600 WHEN 'minute' THEN 60 END;
        IF v_length IS NOT NULL THEN
            v_start := to_timestamp(v_seconds - v_seconds % v_length);
            resets_in[v_quota] := v_length - v_seconds % v_length;
        ELSE
            v_start := quota_period_start(p_quota_periods[v_quota], v_now);
            resets_in[v_quota] := ceil(extract(epoch FROM quota_period_end(p_quota_periods[v_quota], v_start) - v_now));
        END IF;
        v_starts[v_quota] := v_start;

        -- Locks the counters that it finds, whether they have room or not.
        v_limit := p_quota_limits[v_quota];
        v_reserves := v_reserves OR p_quota_flags[v_quota][2];
        WITH taken AS (
            INSERT INTO quota_usage AS u (quota_id, holder, period_start, shared, used)
            SELECT p_quota_ids[v_quota], p_slot_holders[s], v_starts[v_quota], p_quota_flags[v_quota][1], v_taken[s]
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

    -- Which quota a counter belongs to is seldom asked.
    IF p_one_by_one OR verdicts IS NOT NULL OR v_reserves THEN
        v_next := 1;
        FOR s IN 1..cardinality(p_slot_holders) LOOP
            WHILE s > p_slot_ends[v_next] LOOP
                v_next := v_next + 1;
            END LOOP;
            v_quotas[s] := v_next;
        END LOOP;
    END IF;

    -- All counters are locked. Who comes first is served first, from what was used before.
    IF p_one_by_one OR verdicts IS NOT NULL THEN
        verdicts := coalesce(verdicts, array_fill(0, ARRAY[cardinality(p_expires_at)]));
        FOR s IN 1..cardinality(p_slot_holders) LOOP
            v_used[s] := uses[s] - v_taken[s];
        END LOOP;
        FOR i IN 1..cardinality(p_expires_at) LOOP
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

    INSERT INTO issuances (
        id, issued_at, policy_seq, principal, matched_principal, grant_id, credential_id, delivery, action, method, bucket,
        object_key, expires_at, content_type, content_md5, content_length, request_id, quota_ids, quota_amounts
    )
    SELECT p_uuids[i][1], v_now, p_position_seqs[p_item_positions[i]], p_texts[i][1], p_texts[i][2], p_uuids[i][2],
        p_uuids[i][3], p_texts[i][3],
        -- Only temporary credentials permit two things, and bind no method. '' is none of either.
        CASE WHEN p_texts[i][4] <> 'PutObject,GetObject' OR p_texts[i][3] = 'sts' THEN p_texts[i][4] ELSE '' END,
        CASE WHEN p_texts[i][5] <> '*' OR p_texts[i][3] = 'sts' THEN p_texts[i][5] ELSE '' END,
        p_texts[i][6], p_texts[i][7], p_expires_at[i],
        p_texts[i][8], p_content_md5s[i], p_content_lengths[i], p_texts[i][9],
        CASE p_charge_ends[i + 1] - p_charge_ends[i]
            WHEN 0 THEN NULL WHEN 1 THEN ARRAY[p_charge_quotas[p_charge_ends[i + 1]]]
            ELSE p_charge_quotas[p_charge_ends[i] + 1:p_charge_ends[i + 1]] END,
        CASE p_charge_ends[i + 1] - p_charge_ends[i]
            WHEN 0 THEN NULL WHEN 1 THEN ARRAY[p_charge_amounts[p_charge_ends[i + 1]]]
            ELSE p_charge_amounts[p_charge_ends[i] + 1:p_charge_ends[i + 1]] END
    FROM generate_series(1, cardinality(p_expires_at)) AS i
    WHERE verdicts IS NULL OR verdicts[i] = 0;

    IF v_reserves THEN
        INSERT INTO reservations (
            issuance_id, quota_id, holder, period_start, amount, bucket, object_key, dead_at, check_at
        )
        SELECT p_uuids[i][1], p_charge_quotas[c], p_slot_holders[s.slot], v_starts[v_quotas[s.slot]], p_charge_amounts[c],
            p_texts[i][6], p_texts[i][7], d.dead_at, d.dead_at
        FROM generate_series(1, cardinality(p_expires_at)) AS i
        CROSS JOIN LATERAL generate_series(p_charge_ends[i] + 1, p_charge_ends[i + 1]) AS c
        CROSS JOIN LATERAL (SELECT p_charge_slots[c] AS slot) s
        CROSS JOIN LATERAL (
            SELECT greatest(p_expires_at[i], v_now + (p_expires_at[i] - p_sent_at)) AS dead_at
        ) d
        WHERE (verdicts IS NULL OR verdicts[i] = 0) AND p_quota_flags[v_quotas[s.slot]][2] AND p_charge_amounts[c] > 0;
    END IF;
END
$$;
