-- Keys that are rotated with an overlap, who still depends on a former key of a storage credential, counters that are reset, and
-- what the audit is searched by.

ALTER TABLE api_keys
    ADD COLUMN previous_prefix text COLLATE "C",
    ADD COLUMN previous_hash bytea,
    ADD COLUMN previous_expires_at timestamptz,
    ADD CONSTRAINT api_keys_previous_check CHECK (
        num_nulls(previous_prefix, previous_hash, previous_expires_at) IN (0, 3) AND octet_length(previous_hash) = 32
    );

CREATE UNIQUE INDEX api_keys_previous_prefix_idx ON api_keys (previous_prefix) WHERE previous_prefix IS NOT NULL;

-- The change that put the present key in the place of the previous one: what was decided before it was signed by that.
ALTER TABLE storage_credentials
    ADD COLUMN rotated_change uuid CONSTRAINT storage_credentials_rotated_change_fkey REFERENCES policy_changes (id);

CREATE INDEX admin_audit_request_id_idx ON admin_audit (request_id);
CREATE INDEX admin_audit_actor_idx ON admin_audit (actor, id);

-- Sets counters of a quota's current period to zero, of one holder or of all, and gives up what is reserved on them, so that it
-- is not given back a second time. Nothing is returned for a quota that does not exist.
--
-- Reservations are locked before counters, as settling does it. Who charges a counter that is held waits, so that nothing new
-- is reserved on it; a reservation that came before that and is being settled makes the whole attempt fail, to be repeated.
CREATE FUNCTION reset_quota_usage(p_quota_id uuid, p_holder text, OUT holders bigint, OUT released bigint)
LANGUAGE plpgsql VOLATILE
SET lock_timeout = '2s'
AS $$
DECLARE
    v_period text;
    v_start timestamptz;
    v_holders text[];
BEGIN
    SELECT q.period INTO v_period FROM quotas q WHERE q.id = p_quota_id;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    v_start := quota_period_start(v_period, clock_timestamp());
    PERFORM
    FROM reservations r
    WHERE r.quota_id = p_quota_id AND r.period_start = v_start AND (p_holder IS NULL OR r.holder = p_holder)
    ORDER BY r.issuance_id
    FOR UPDATE;

    SELECT count(*), coalesce(sum(l.used), 0), array_agg(l.holder) INTO holders, released, v_holders
    FROM (
        SELECT u.holder, u.used
        FROM quota_usage u
        WHERE u.quota_id = p_quota_id AND u.period_start = v_start AND (p_holder IS NULL OR u.holder = p_holder)
        ORDER BY u.shared, u.quota_id, u.holder, u.period_start
        FOR UPDATE
    ) l;

    DELETE FROM reservations r
    USING (
        SELECT h.issuance_id
        FROM reservations h
        WHERE h.quota_id = p_quota_id AND h.period_start = v_start AND h.holder = ANY (v_holders)
        FOR UPDATE SKIP LOCKED
    ) held
    WHERE r.quota_id = p_quota_id AND r.issuance_id = held.issuance_id;
    IF EXISTS (
        SELECT FROM reservations r
        WHERE r.quota_id = p_quota_id AND r.period_start = v_start AND r.holder = ANY (v_holders)
    ) THEN
        RAISE EXCEPTION 'reservations of the quota are being settled' USING ERRCODE = 'serialization_failure';
    END IF;

    UPDATE quota_usage u
    SET used = 0, released = u.released + u.used
    WHERE u.quota_id = p_quota_id AND u.period_start = v_start AND u.holder = ANY (v_holders) AND u.used > 0;
END
$$;
