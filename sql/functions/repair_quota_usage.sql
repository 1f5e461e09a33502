-- Sets one counter of a current period to what the ledger adds up to.
--
-- Whoever charges a counter holds its row until the charge is committed. So once the row is locked here, the next
-- statement sees all charges. One row is locked, so that nobody can wait in a circle. Links older than an hour are
-- added up before the row is locked: no recording takes that long. So recordings that charge the counter wait only
-- while the last hour is added up.
--
--   p_quota_id, p_holder, p_period_start  the counter; it is created where there is none
-- Result: its use now; 0 where the quota does not exist.
-- Locks: ACCESS SHARE on issuances, then the counter. Callers: the gateway's role. Errors: none.
CREATE OR REPLACE FUNCTION repair_quota_usage(p_quota_id uuid, p_holder text, p_period_start timestamptz) RETURNS bigint
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    v_quota quotas;
    v_end timestamptz;
    v_recent timestamptz := greatest(clock_timestamp() - interval '1 hour', p_period_start);
    v_charged bigint;
    v_used bigint;
BEGIN
    SELECT q.* INTO v_quota FROM quotas q WHERE q.id = p_quota_id;
    IF NOT FOUND THEN
        RETURN 0;
    END IF;
    -- Before the counter, since emptying a partition locks the two in this order.
    LOCK TABLE issuances IN ACCESS SHARE MODE;
    v_end := coalesce(quota_period_end(v_quota.period, p_period_start), 'infinity');
    v_charged := quota_charges(v_quota, p_holder, p_period_start, least(v_recent, v_end));
    INSERT INTO quota_usage (quota_id, holder, period_start, shared, used)
    VALUES (p_quota_id, p_holder, p_period_start, v_quota.sharing = 'shared', 0)
    ON CONFLICT DO NOTHING;
    PERFORM
    FROM quota_usage u
    WHERE u.quota_id = p_quota_id AND u.holder = p_holder AND u.period_start = p_period_start
    FOR UPDATE;
    v_charged := v_charged + quota_charges(v_quota, p_holder, v_recent, v_end);
    UPDATE quota_usage u
    SET used = greatest(v_charged + u.archived - u.released, 0)
    WHERE u.quota_id = p_quota_id AND u.holder = p_holder AND u.period_start = p_period_start
    RETURNING u.used INTO v_used;
    RETURN v_used;
END
$$;
