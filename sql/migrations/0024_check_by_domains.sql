-- Constraints of the ledger's values move into types. PostgreSQL reads a table's CHECK constraints anew from their text for each
-- statement that writes, which was a third of the cost of recording one issuance; those of domains it keeps.
--
-- The types are given first and constrained then, which rewrites nothing; the constraints that go have seen all rows.

DROP VIEW uploads;
DROP FUNCTION note_settled_uploads;
DROP FUNCTION audit_quotas;

CREATE DOMAIN issuance_delivery AS text;
CREATE DOMAIN issuance_action AS text;
CREATE DOMAIN issuance_method AS text;
CREATE DOMAIN md5_digest AS bytea;
-- URLs or bytes.
CREATE DOMAIN amount AS bigint;

ALTER TABLE issuances
    DROP CONSTRAINT issuances_delivery_check,
    DROP CONSTRAINT issuances_action_check,
    DROP CONSTRAINT issuances_method_check,
    DROP CONSTRAINT issuances_content_md5_check,
    DROP CONSTRAINT issuances_content_length_check,
    ALTER COLUMN delivery TYPE issuance_delivery,
    ALTER COLUMN action TYPE issuance_action,
    ALTER COLUMN method TYPE issuance_method,
    ALTER COLUMN content_md5 TYPE md5_digest,
    ALTER COLUMN content_length TYPE amount;

ALTER TABLE quota_usage
    DROP CONSTRAINT quota_usage_amounts_check,
    ALTER COLUMN used TYPE amount,
    ALTER COLUMN released TYPE amount,
    ALTER COLUMN archived TYPE amount;

ALTER DOMAIN issuance_delivery ADD CONSTRAINT issuance_delivery_check CHECK (
    VALUE IN (
        'presigned-url', 'post-policy', 'multipart-start', 'multipart-part', 'multipart-complete', 'redirect', 'sts',
        'remote-signature'
    )
) NOT VALID;
ALTER DOMAIN issuance_action ADD CONSTRAINT issuance_action_check
    CHECK (VALUE IN ('PutObject', 'GetObject', 'PutObject,GetObject')) NOT VALID;
ALTER DOMAIN issuance_method ADD CONSTRAINT issuance_method_check
    CHECK (VALUE IN ('GET', 'HEAD', 'PUT', 'POST', 'DELETE', '*')) NOT VALID;
ALTER DOMAIN md5_digest ADD CONSTRAINT md5_digest_check CHECK (octet_length(VALUE) = 16) NOT VALID;
ALTER DOMAIN amount ADD CONSTRAINT amount_check CHECK (VALUE >= 0) NOT VALID;

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

-- Counters of the current periods whose use is not what the rows of the ledger add up to, in one snapshot.
--
-- Each counter is the sum of its charges, in the ledger and archived, less what was given back.
CREATE FUNCTION audit_quotas()
RETURNS TABLE (quota_id uuid, holder text, period_start timestamptz, used bigint, charged bigint)
LANGUAGE sql STABLE
BEGIN ATOMIC
    WITH periods AS (
        SELECT q.id, q.principal, q.sharing, s.starts_at,
            coalesce(quota_period_end(q.period, s.starts_at), 'infinity') AS ends_at
        FROM quotas q
        CROSS JOIN LATERAL (SELECT quota_period_start(q.period, statement_timestamp()) AS starts_at) s
    ),
    charges AS (
        SELECT p.id, CASE p.sharing WHEN 'shared' THEN p.principal ELSE i.principal END AS holder, p.starts_at,
            sum(c.amount)::bigint AS amount
        FROM issuances i
        CROSS JOIN LATERAL unnest(i.quota_ids, i.quota_amounts) AS c (quota_id, amount)
        JOIN periods p ON p.id = c.quota_id
        WHERE i.quota_ids IS NOT NULL AND i.issued_at >= p.starts_at AND i.issued_at < p.ends_at
            AND i.issued_at >= (SELECT min(e.starts_at) FROM periods e)
        GROUP BY 1, 2, 3
    ),
    counters AS (
        SELECT u.quota_id, u.holder, u.period_start, u.used, u.archived - u.released AS settled
        FROM quota_usage u
        JOIN periods p ON p.id = u.quota_id AND p.starts_at = u.period_start
    )
    SELECT coalesce(c.id, u.quota_id), coalesce(c.holder, u.holder), coalesce(c.starts_at, u.period_start),
        coalesce(u.used, 0), coalesce(c.amount, 0) + coalesce(u.settled, 0)
    FROM charges c
    FULL JOIN counters u ON u.quota_id = c.id AND u.holder = c.holder AND u.period_start = c.starts_at
    WHERE coalesce(u.used, 0) <> coalesce(c.amount, 0) + coalesce(u.settled, 0)
    ORDER BY 1, 2, 3;
END;

-- What binds several columns is seen to by those who write them.

-- Records one issuance that charges at most one quota: proves that the policy it was decided on still stands, charges the
-- quota and writes its row, or does none of this.
--
-- The order of the statements is what makes it right. The shared lock is a statement of its own, so that the reads after it
-- see every change that was answered before; a change waits for the exclusive lock until this transaction is over. The
-- counter is taken after the lock.
--
--   p_position_seq, p_position_tag  the state of policy that the decision rests on
--   p_scopes                        the scopes that it rests on
--   p_id … p_request_id             the columns of its row
--   p_quota_id … p_reserves         the quota, whose use is counted, its period, whether that use is shared, what is charged,
--                                   the quota's limit, whether bytes are reserved; NULL without a quota
-- Answers the verdict (0 recorded, -1 stale, 1 refused by the quota) and, where the quota was looked at, what is used of it now
-- and the seconds until its next period (NULL for a total).
CREATE OR REPLACE FUNCTION record_issuance(
    p_position_seq bigint, p_position_tag uuid, p_scopes text[],
    p_id uuid, p_principal text, p_matched_principal text, p_grant_id uuid, p_credential_id uuid,
    p_delivery text, p_action text, p_method text, p_bucket text, p_object_key text,
    p_expires_at timestamptz, p_content_type text, p_content_md5 bytea, p_content_length bigint, p_request_id text,
    p_quota_id uuid, p_holder text, p_period text, p_shared boolean, p_amount bigint, p_limit bigint, p_reserves boolean
) RETURNS bigint[]
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
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
        VALUES (p_id, p_quota_id, p_holder, v_start, p_amount, p_bucket, p_object_key, p_expires_at, p_expires_at);
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
CREATE OR REPLACE FUNCTION record_issuances(
    p_position_seqs bigint[], p_position_tags uuid[], p_scopes text[],
    p_item_positions integer[], p_scope_ends integer[], p_scope_refs integer[],
    p_uuids uuid[], p_texts text[], p_expires_at timestamptz[], p_content_md5s bytea[], p_content_lengths bigint[],
    p_quota_ids uuid[], p_quota_periods text[], p_quota_flags boolean[], p_quota_limits bigint[],
    p_slot_ends integer[], p_slot_holders text[], p_slot_amounts bigint[], p_one_by_one boolean,
    p_charge_ends integer[], p_charge_quotas uuid[], p_charge_slots integer[], p_charge_amounts bigint[],
    OUT verdicts integer[], OUT uses bigint[], OUT resets_in integer[]
)
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
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
            p_texts[i][6], p_texts[i][7], p_expires_at[i], p_expires_at[i]
        FROM generate_series(1, cardinality(p_expires_at)) AS i
        CROSS JOIN LATERAL generate_series(p_charge_ends[i] + 1, p_charge_ends[i + 1]) AS c
        CROSS JOIN LATERAL (SELECT p_charge_slots[c] AS slot) s
        WHERE (verdicts IS NULL OR verdicts[i] = 0) AND p_quota_flags[v_quotas[s.slot]][2] AND p_charge_amounts[c] > 0;
    END IF;
END
$$;
