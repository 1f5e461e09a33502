-- Sets the counters of a quota's current period to zero and gives up what is reserved on them, so that it is not given
-- back a second time.
--
-- Reservations are locked before counters, as settling does it. While the counters are locked nothing new is reserved
-- on them. A reservation that came earlier and is being settled makes the whole attempt fail, to be repeated.
--
--   p_quota_id  the quota
--   p_holder    the principal whose counter is reset; NULL for all
-- Result
--   holders   how many counters were reset; NULL where the quota does not exist
--   released  what was used of them
-- Locks: the reservations; then the counters. Callers: reset_quota.
-- Errors: serialization_failure where reservations are being settled; lock_not_available after two seconds.
CREATE OR REPLACE FUNCTION reset_quota_usage(p_quota_id uuid, p_holder text, OUT holders bigint, OUT released bigint)
LANGUAGE plpgsql VOLATILE
SET lock_timeout = '2s'
-- A plan for any quota would read all reservations where most are of one, and search the list of holders for each.
SET plan_cache_mode = force_custom_plan
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
