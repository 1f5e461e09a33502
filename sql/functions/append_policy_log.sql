-- Announces the line that policy_log will hold about a change of policy. Call it last, after all other writes of the
-- transaction.
--
-- COMMIT writes the line: the trigger changes_are_logged takes the exclusive policy lock there, so that nobody waits
-- for what a gateway does between two statements. A transaction that changes policy without this call does not commit.
--
--   p_scopes      the scopes that the change touches. More than 1,000 become 'all' and, for can_give_back and
--                 prove_issuances, the buckets and credentials among them, or 'buckets' if these are too many as well;
--                 and for prove_actor, 'callers' and the API keys, issuers and tickets among them, unless the line
--                 would have more than 1,000 then
--   p_actor       who makes the change
--   p_request_id  the request that asked for it; '' if none did
--   p_attempts    how many times COMMIT may ask for the lock, for two seconds each; recordings continue in between
-- Result: none. Locks: none now; the policy lock, exclusively, at COMMIT.
-- Callers: the gateway's role; 'sluice migrate'; offboard_principal.
-- Errors: invalid_transaction_state outside READ COMMITTED; at COMMIT, lock_not_available.
CREATE OR REPLACE FUNCTION append_policy_log(
    p_scopes text[], p_actor text, p_request_id text, p_attempts integer DEFAULT 1
) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    v_scopes text[] := p_scopes;
    v_callers text[];
    v_lines jsonb := coalesce(nullif(current_setting('sluice.lines', true), ''), '{}');
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'a change of policy needs read committed' USING ERRCODE = 'invalid_transaction_state';
    END IF;
    IF cardinality(p_scopes) > 1000 THEN
        v_scopes := ARRAY['all'] || ARRAY(SELECT s FROM unnest(p_scopes) AS s WHERE s ~ '^(bucket|credential):');
        IF cardinality(v_scopes) > 1000 THEN
            v_scopes := '{all,buckets}';
        END IF;
        v_callers := ARRAY(SELECT s FROM unnest(p_scopes) AS s WHERE s ~ '^(apikey|issuer|ticket):');
        IF cardinality(v_scopes) + 1 + cardinality(v_callers) <= 1000 THEN
            v_scopes := v_scopes || 'callers'::text || v_callers;
        END IF;
    END IF;
    v_lines := v_lines || jsonb_build_object(
        current_policy_change(),
        jsonb_build_object('scopes', v_scopes, 'actor', p_actor, 'request', p_request_id, 'attempts', p_attempts)
    );
    PERFORM set_config('sluice.lines', v_lines::text, true);
    PERFORM set_config('sluice.change', '', true);
END
$$;
