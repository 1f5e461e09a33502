-- Writes the line of a change into policy_log as its transaction commits: a deferred trigger on policy_changes. Refuses
-- a change that append_policy_log was not called for.
--
-- The exclusive lock waits for every recording that is under way, and every later recording sees the new line. A line's
-- number is the highest one plus 1, not that of a sequence, which would leave gaps after a crash.
--
-- Under the lock, the setting 'sluice.proof' of the transaction is proved (see prove_actor): an admin whose key was
-- removed while the change was prepared, or while it waited, changes nothing. Of the user that the setting
-- 'sluice.offboarded' names (see offboard_principal), no row but uploads may be left.
--
-- Locks: the policy lock, exclusively, for what is left of COMMIT.
-- Errors: integrity_constraint_violation for a change without a line; lock_not_available after two seconds for each
-- attempt; those of prove_actor; serialization_failure if the user who is offboarded has rows again.
CREATE OR REPLACE FUNCTION write_policy_log() RETURNS trigger
LANGUAGE plpgsql
SET lock_timeout = '2s'
AS $$
DECLARE
    v_line jsonb := nullif(current_setting('sluice.lines', true), '')::jsonb -> NEW.id::text;
    v_attempts integer := (v_line -> 'attempts')::integer;
    v_offboarded text := nullif(current_setting('sluice.offboarded', true), '');
    v_seq bigint;
BEGIN
    IF v_line IS NULL THEN
        RAISE EXCEPTION 'change % ends without append_policy_log', NEW.id
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    -- A statement of its own, so that the next one sees what was committed while this one waited.
    LOOP
        BEGIN
            PERFORM pg_advisory_xact_lock(advisory_lock('policy'));
            EXIT;
        EXCEPTION WHEN lock_not_available THEN
            v_attempts := v_attempts - 1;
            IF v_attempts <= 0 THEN
                RAISE;
            END IF;
        END;
    END LOOP;
    PERFORM prove_actor(nullif(current_setting('sluice.proof', true), '')::jsonb);
    IF v_offboarded IS NOT NULL THEN
        -- Uploads give nothing by themselves, and the user can start them at any time.
        IF EXISTS (SELECT FROM offboarding_rows(v_offboarded) r WHERE r.kind <> 'Upload') THEN
            RAISE EXCEPTION 'somebody else added to what % has', v_offboarded USING ERRCODE = 'serialization_failure';
        END IF;
    END IF;
    INSERT INTO policy_log (seq, tag, scopes, actor, request_id)
    SELECT max(l.seq) + 1, NEW.id, ARRAY(SELECT jsonb_array_elements_text(v_line -> 'scopes')), v_line ->> 'actor',
        v_line ->> 'request'
    FROM policy_log l
    RETURNING seq INTO STRICT v_seq;
    PERFORM pg_notify('sluice_policy', v_seq::text);
    RETURN NULL;
END
$$;

-- PostgreSQL cannot replace a constraint trigger.
DROP TRIGGER IF EXISTS changes_are_logged ON policy_changes;
CREATE CONSTRAINT TRIGGER changes_are_logged AFTER INSERT ON policy_changes
DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION write_policy_log();
