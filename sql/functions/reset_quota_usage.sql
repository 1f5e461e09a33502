-- Sets the counters of a quota's current period to zero and gives up what is reserved on them, so that it is not given
-- back a second time.
--
-- Reservations are locked before counters, as settling does it, and there may be a million. So they are deleted while
-- nobody waits: settling passes over them, and the policy lock and the counters come afterwards. While the counters are
-- locked nothing new is reserved on them, and only the few reservations that came during the deletion are left. One of
-- them that is being settled makes the whole attempt fail, to be repeated. So does a period that ended meanwhile.
--
--   p_quota_id  the quota
--   p_holder    the principal whose counter is reset; NULL for all
--   p_proof     what the actor's credential rests on, for prove_actor
-- Result
--   holders   how many counters were reset; NULL where the quota does not exist
--   released  what was used of them
-- Locks: the reservations, by ascending identifiers; the policy lock, shared; then the counters. Callers: reset_quota.
-- Errors: those of prove_actor; serialization_failure where reservations are being settled, or the period has ended
-- before its counters were locked; lock_not_available after two seconds.
CREATE OR REPLACE FUNCTION reset_quota_usage(
    p_quota_id uuid, p_holder text, p_proof jsonb, OUT holders bigint, OUT released bigint
)
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
    v_start := quota_period_start(v_period, clock_timestamp());
    -- One that somebody changed since the statement began is locked and stays for the next deletion.
    DELETE FROM reservations r
    WHERE r.ctid = ANY (ARRAY(
        SELECT h.ctid
        FROM reservations h
        WHERE h.quota_id = p_quota_id AND h.period_start = v_start AND (p_holder IS NULL OR h.holder = p_holder)
        ORDER BY h.issuance_id
        FOR UPDATE
    ));

    PERFORM prove_actor(p_proof);
    IF v_period IS NULL THEN
        RETURN;
    END IF;
    SELECT count(*), coalesce(sum(l.used), 0), array_agg(l.holder) INTO holders, released, v_holders
    FROM (
        SELECT u.holder, u.used
        FROM quota_usage u
        WHERE u.quota_id = p_quota_id AND u.period_start = v_start AND (p_holder IS NULL OR u.holder = p_holder)
        ORDER BY u.shared, u.quota_id, u.holder, u.period_start
        FOR UPDATE
    ) l;
    IF quota_period_start(v_period, clock_timestamp()) <> v_start THEN
        RAISE EXCEPTION 'the period of the quota has ended meanwhile' USING ERRCODE = 'serialization_failure';
    END IF;

    DELETE FROM reservations r
    WHERE r.quota_id = p_quota_id AND r.issuance_id = ANY (ARRAY(
        SELECT h.issuance_id
        FROM reservations h
        WHERE h.quota_id = p_quota_id AND h.period_start = v_start AND h.holder = ANY (v_holders)
        FOR UPDATE SKIP LOCKED
    ));
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
