-- Records one issuance that charges at most one quota: proves that the policy it was decided on still holds, charges
-- the quota and writes the row; or does none of the three. record_issuances does the same for any number of issuances,
-- at three times the cost for a single one.
--
-- The order of the statements makes the proof valid. The shared lock is a statement of its own: the reads after it use
-- a later snapshot and see every change that was answered before. A change of policy takes the lock exclusively, and so
-- waits until this transaction has ended. The counter is locked after the policy lock, never before.
--
-- Arguments
--   p_sent_at          the gateway's clock when it sent the statement
--   p_max_difference   seconds by which the database's clock may differ from it
--   p_position_seq, p_position_tag  the state of policy that the decision rests on: number and tag of the last line of
--                      policy_log that the gateway had read
--   p_scopes           the scopes of policy that the decision rests on; 'all' is implied
--   p_id … p_request_id  the columns of issuances with the same names; p_expires_at is by the gateway's clock
--   p_quota_id         the quota to charge; NULL for none, and then all the following are NULL
--   p_holder           the principal whose use is counted
--   p_period           the quota's period
--   p_shared           whether several principals share the counter
--   p_amount           what to charge, in the quota's metric
--   p_limit            the quota's limit
--   p_reserves         whether the charge is in bytes, which are reserved until the upload is settled
-- Result: an array that begins with the verdict
--   {0, used, seconds}      recorded
--   {1, used, seconds}      refused by the quota
--   {-1}                    stale: policy changed after the decision, or the position is not in the log
--   {-2, milliseconds}      the database's clock is ahead by so much, more than is allowed (negative: behind)
-- where "used" is what is used of the quota now and "seconds" is the time until its next period, NULL for a total; both
-- are NULL without a quota.
-- Locks: the policy lock, shared; then the quota's counter. Both until the transaction ends.
-- Callers: the gateway's role, one statement in a transaction of its own.
-- Errors: invalid_transaction_state outside READ COMMITTED; check_violation of issuance_action_check or
-- issuance_method_check where a credential permits several actions or binds no method and may not;
-- check_violation of the domains of the columns.
CREATE OR REPLACE FUNCTION record_issuance(
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
    v_start timestamptz;
    v_resets_in bigint;
    v_used bigint;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'recording needs read committed' USING ERRCODE = 'invalid_transaction_state';
    END IF;
    -- Compared with the time at which the statement arrived, so that waiting for locks does not count.
    IF abs(v_ahead) <= p_max_difference IS NOT TRUE THEN
        RETURN ARRAY[-2, (1000 * v_ahead)::bigint];
    END IF;
    -- An assignment, since PERFORM would start the executor.
    v_lock := pg_advisory_xact_lock_shared(advisory_lock('policy'));

    -- In most calls nothing has changed for anybody since the decision.
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
        v_start := quota_period_start(p_period, v_now);
        v_resets_in := ceil(date_part('epoch', quota_period_end(p_period, v_start) - v_now));
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
            -- Either nobody has used the quota in this period, or room was made between the two statements.
            INSERT INTO quota_usage (quota_id, holder, period_start, shared, used)
            VALUES (p_quota_id, p_holder, v_start, p_shared, 0)
            ON CONFLICT DO NOTHING;
        END LOOP;
    END IF;

    -- Few credentials permit several actions, and only sessions bind no method. No column alone can tell.
    IF strpos(p_action, ',') > 0 AND p_delivery NOT IN ('sts', 'cdn-cookies') OR p_method = '*' AND p_delivery <> 'sts'
    THEN
        PERFORM refuse_action_or_method(p_delivery, p_method);
    END IF;
    INSERT INTO issuances (
        id, issued_at, policy_seq, principal, matched_principal, grant_id, credential_id, delivery, action, method,
        bucket, object_key, expires_at, content_type, content_md5, content_length, request_id, quota_ids, quota_amounts
    )
    VALUES (
        p_id, v_now, p_position_seq, p_principal, p_matched_principal, p_grant_id, p_credential_id, p_delivery,
        p_action, p_method, p_bucket, p_object_key, p_expires_at, p_content_type, p_content_md5, p_content_length,
        p_request_id,
        CASE WHEN p_quota_id IS NOT NULL THEN ARRAY[p_quota_id] END,
        CASE WHEN p_quota_id IS NOT NULL THEN ARRAY[p_amount] END
    );
    IF p_reserves AND p_amount > 0 THEN
        INSERT INTO reservations (
            issuance_id, quota_id, holder, period_start, amount, issued_at, policy_seq, principal, matched_principal,
            grant_id, credential_id, delivery, action, bucket, object_key, dead_at, check_at
        )
        VALUES (
            p_id, p_quota_id, p_holder, v_start, p_amount, v_now, p_position_seq, p_principal, p_matched_principal,
            p_grant_id, p_credential_id, p_delivery, p_action, p_bucket, p_object_key,
            -- By the later of both clocks.
            greatest(p_expires_at, v_now + (p_expires_at - p_sent_at)),
            greatest(p_expires_at, v_now + (p_expires_at - p_sent_at))
        );
    END IF;
    -- Whoever may delete an object can hide that it arrived. At Alibaba OSS, so can a session that uploads: a symbolic
    -- link to nothing takes the object's place, and answers as if there were none.
    IF strpos(p_action, 'DeleteObject') > 0
        OR p_delivery = 'sts' AND strpos(p_action, 'PutObject') > 0
            AND EXISTS (SELECT FROM buckets b WHERE b.name = p_bucket AND b.provider = 'oss')
    THEN
        INSERT INTO deletions (principal, issuance_id, bucket, object_key, dead_at)
        VALUES (
            p_principal, p_id, p_bucket, p_object_key, greatest(p_expires_at, v_now + (p_expires_at - p_sent_at))
        );
    END IF;
    RETURN ARRAY[0, v_used, v_resets_in];
END
$$;
