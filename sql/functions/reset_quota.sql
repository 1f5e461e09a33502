-- Sets the counters of a quota to zero for an admin, and writes that into the audit. Both are one statement, since
-- recordings wait for the counters.
--
--   p_quota_id           the quota
--   p_holder             the principal whose counter is reset; NULL for all
--   p_entry_id, p_actor, p_request_id  of the row in admin_audit
--   p_key_id, p_attempt  the claim of the request's idempotency key; NULL for none
--   p_credential         the credential by which the actor came; NULL for the bootstrap key
--   p_proof              what that credential rests on, for prove_actor
-- Result
--   is_claimed          whether the claim still holds; else nothing was done
--   holders, released   those of reset_quota_usage
-- Locks: the key's row; then those of reset_quota_usage. Callers: the gateway's role, last in its transaction.
-- Errors: those of reset_quota_usage.
CREATE OR REPLACE FUNCTION reset_quota(
    p_quota_id uuid, p_holder text, p_entry_id uuid, p_actor text, p_request_id text, p_key_id uuid, p_attempt uuid,
    p_credential text, p_proof jsonb,
    OUT is_claimed boolean, OUT holders bigint, OUT released bigint
)
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    PERFORM FROM idempotency_keys k WHERE k.id = p_key_id AND k.attempt = p_attempt FOR UPDATE;
    is_claimed := FOUND OR p_key_id IS NULL;
    IF NOT is_claimed THEN
        RETURN;
    END IF;
    SELECT r.holders, r.released INTO holders, released FROM reset_quota_usage(p_quota_id, p_holder, p_proof) AS r;
    IF holders IS NULL THEN
        RETURN;
    END IF;
    UPDATE idempotency_keys k
    SET changed_at = clock_timestamp(), claimed_until = idempotency_claim_end()
    WHERE k.id = p_key_id;
    INSERT INTO admin_audit (id, actor, request_id, credential, operation, kind, resource_id, before, after)
    VALUES (
        p_entry_id, p_actor, p_request_id, p_credential, 'reset', 'Quota', p_quota_id::text,
        jsonb_strip_nulls(jsonb_build_object('holder', p_holder, 'holders', holders, 'used', released)),
        jsonb_strip_nulls(jsonb_build_object('holder', p_holder, 'holders', holders, 'used', 0))
    );
END
$$;
