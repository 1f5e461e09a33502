-- Proves that the credential of whoever makes a change still stands: policy_log has the position at which it was
-- checked, and no later line about the issuer or API key that vouches for it.
--
--   p_proof  {"seq": …, "tag": …, "scopes": […]}: number and tag of the line up to which policy was known when the
--            credential was checked, and the scopes that it rests on. NULL where nothing has to be proved, as for the
--            bootstrap key
-- Result: true. Locks: the policy lock, shared, until the transaction ends. Whoever also locks what changes of policy
-- lock calls it after that; whoever locks counters, before.
-- Callers: write_policy_log, which holds that lock exclusively; reset_quota_usage; the gateway's role, in a change that
-- policy_log does not tell.
-- Errors: SL001 where the credential may not stand any more.
CREATE OR REPLACE FUNCTION prove_actor(p_proof jsonb) RETURNS boolean
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    v_seq bigint := (p_proof -> 'seq')::bigint;
BEGIN
    IF p_proof IS NULL THEN
        RETURN true;
    END IF;
    -- A statement of its own, so that the next one sees every change that was answered before.
    PERFORM pg_advisory_xact_lock_shared(advisory_lock('policy'));
    IF NOT EXISTS (SELECT FROM policy_log l WHERE l.seq = v_seq AND l.tag = (p_proof ->> 'tag')::uuid)
        OR EXISTS (
            SELECT FROM policy_log l
            WHERE l.seq > v_seq
                AND (
                    l.scopes && ARRAY(SELECT jsonb_array_elements_text(p_proof -> 'scopes'))
                    -- A change of many grants lists those who vouch for callers: mostly none.
                    OR 'all' = ANY (l.scopes) AND 'callers' <> ALL (l.scopes)
                )
        )
    THEN
        RAISE EXCEPTION 'the credential of the change may have been changed' USING ERRCODE = 'SL001';
    END IF;
    RETURN true;
END
$$;
