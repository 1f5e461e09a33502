-- Claims an idempotency key for a request, or tells what is known of it.
--
-- Keys live for 24 hours. Nobody waits here: whoever holds the row is about to record or to answer.
--
--   p_id                      identifier of the row, if it is new
--   p_attempt                 identifies this request among those with the key
--   p_caller, p_route         together with the key's digest, what a key is unique for
--   p_key_digest, p_body_digest  SHA-256 of the key and of the request
-- Result
--   verdict       'fresh': claimed, nothing has happened; 'interrupted': claimed, it took effect, and no answer is
--                 known; 'answered': with the sealed answer; 'in-flight': another attempt holds the claim;
--                 'other-request': the key was used for a request with another body
--   id            of the row
--   attempt       the attempt that may act for the key: this one, or the one that answered; with the first three
--                 verdicts
--   retry_after   with 'in-flight', seconds after which to ask again: 1 where the claim was renewed in the last second,
--                 else what is left of it
--   issuance_ids  what was recorded for the key
--   sealed, key_id  the answer and the master key that sealed it
-- Locks: the key's row, until the transaction ends; not if the key is answered and another request holds the row.
-- Callers: the gateway's role. Errors: none.
CREATE OR REPLACE FUNCTION claim_idempotency_key(
    p_id uuid, p_attempt uuid, p_caller text, p_route text, p_key_digest bytea, p_body_digest bytea,
    OUT verdict text, OUT id uuid, OUT attempt uuid, OUT retry_after integer, OUT issuance_ids uuid[], OUT sealed bytea,
    OUT key_id text
)
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    v_row idempotency_keys;
    v_left interval;
BEGIN
    retry_after := 1;
    FOR i IN 1..5 LOOP
        INSERT INTO idempotency_keys AS k (id, caller, route, key_digest, body_digest, attempt, claimed_until)
        VALUES (p_id, p_caller, p_route, p_key_digest, p_body_digest, p_attempt, idempotency_claim_end())
        ON CONFLICT ON CONSTRAINT idempotency_keys_key DO NOTHING;
        IF FOUND THEN
            verdict := 'fresh';
            id := p_id;
            attempt := p_attempt;
            issuance_ids := '{}';
            RETURN;
        END IF;
        SELECT k.* INTO v_row
        FROM idempotency_keys k
        WHERE k.key_digest = p_key_digest AND k.caller = p_caller AND k.route = p_route
        FOR UPDATE SKIP LOCKED;
        IF NOT FOUND THEN
            -- Somebody holds the row, or it is gone. An answer no longer changes, so it is read without the lock.
            SELECT k.* INTO v_row
            FROM idempotency_keys k
            WHERE k.key_digest = p_key_digest AND k.caller = p_caller AND k.route = p_route;
            IF NOT FOUND THEN
                CONTINUE;
            END IF;
            IF v_row.answered_at IS NOT NULL AND v_row.created_at >= clock_timestamp() - interval '24 hours' THEN
                EXIT;
            END IF;
            verdict := 'in-flight';
            RETURN;
        END IF;
        IF v_row.created_at < clock_timestamp() - interval '24 hours' THEN
            DELETE FROM idempotency_keys k WHERE k.id = v_row.id;
            CONTINUE;
        END IF;
        EXIT;
    END LOOP;
    IF v_row.id IS NULL THEN
        verdict := 'in-flight';
        RETURN;
    END IF;

    id := v_row.id;
    issuance_ids := v_row.issuance_ids;
    v_left := v_row.claimed_until - clock_timestamp();
    IF v_row.body_digest <> p_body_digest THEN
        verdict := 'other-request';
    ELSIF v_row.answered_at IS NOT NULL THEN
        verdict := 'answered';
        attempt := v_row.attempt;
        sealed := v_row.sealed;
        key_id := v_row.key_id;
    ELSIF v_left > interval '0' THEN
        verdict := 'in-flight';
        IF v_left < idempotency_claim_end() - clock_timestamp() - interval '1 second' THEN
            retry_after := ceil(extract(epoch FROM v_left));
        END IF;
    ELSE
        UPDATE idempotency_keys k
        SET attempt = p_attempt, claimed_until = idempotency_claim_end()
        WHERE k.id = v_row.id;
        attempt := p_attempt;
        verdict := CASE
            WHEN v_row.changed_at IS NOT NULL OR cardinality(v_row.issuance_ids) > 0 THEN 'interrupted'
            ELSE 'fresh'
        END;
    END IF;
END
$$;
