-- Removes all rows that give a user something, if they are those that the admin saw, as one change of policy.
--
-- One statement finds and removes the rows, so that none is removed that is not in the audit. A row that somebody else
-- adds or changes meanwhile makes the removal fail as a whole: COMMIT looks under the policy lock whether any is left,
-- but for uploads (see write_policy_log). Uploads in parts are closed; the gateways' upkeep makes the stores discard
-- their parts. The audit has a line for each row, and policy_log one for all. If there are no rows, the audit has a
-- line for the revocation of the user's tickets, which the caller notes before.
--
--   p_principal   the user
--   p_expected    the tag of the rows that were shown (see offboarding_tag); NULL for whatever there is
--   p_actor       who makes the change
--   p_request_id  the request that asked for it
--   p_credential  the credential by which the actor came; NULL for the bootstrap key
-- Result: the number of rows removed; 0 if there were none, whatever was expected; NULL if the rows are others than
-- those expected, and nothing is changed.
-- Locks: the rows, uploads by ascending identifiers; at COMMIT the policy lock, exclusively.
-- Callers: the gateway's role. Errors: serialization_failure where somebody else changed a row or, at COMMIT, added
-- one; the caller repeats.
CREATE OR REPLACE FUNCTION offboard_principal(
    p_principal text, p_expected text, p_actor text, p_request_id text, p_credential text
) RETURNS bigint
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    v_seen text;
    v_found text;
    v_scopes text[];
    v_count bigint;
    v_gone bigint;
BEGIN
    SELECT count(*), offboarding_tag(array_agg(r.mark)) INTO v_count, v_seen FROM offboarding_rows(p_principal) r;
    IF v_count = 0 THEN
        INSERT INTO admin_audit (id, actor, request_id, credential, operation, kind, resource_id, before)
        VALUES (uuid_v7(), p_actor, p_request_id, p_credential, 'delete', 'Ticket', p_principal, '{"items": []}');
        RETURN 0;
    END IF;
    IF p_expected <> v_seen THEN
        RETURN NULL;
    END IF;
    WITH doomed AS MATERIALIZED (
        SELECT r.kind, r.id, r.revision, r.mark, r.scopes, r.document FROM offboarding_rows(p_principal) r
    ),
    gone_grants AS (
        UPDATE grants g
        SET removed_at = clock_timestamp(), removed_by = p_actor, removed_change = current_policy_change()
        FROM doomed d
        WHERE d.kind = 'Grant' AND g.id = d.id::uuid AND g.created_change = d.revision AND g.removed_at IS NULL
        RETURNING 1
    ),
    gone_members AS (
        DELETE FROM group_members m USING doomed d
        WHERE d.kind = 'GroupMember' AND m.member_principal = p_principal
            AND m.group_principal = split_part(d.id, chr(31), 1) AND m.revision = d.revision
        RETURNING 1
    ),
    gone_keys AS (
        DELETE FROM api_keys k USING doomed d WHERE d.kind = 'APIKey' AND k.id = d.id::uuid AND k.revision = d.revision
        RETURNING 1
    ),
    gone_tickets AS (
        DELETE FROM tickets t USING doomed d WHERE d.kind = 'Ticket' AND t.id = d.id::uuid AND t.revision = d.revision
        RETURNING 1
    ),
    -- In the order of those who reserve parts of several.
    open_uploads AS MATERIALIZED (
        SELECT u.id
        FROM multipart_uploads u
        JOIN doomed d ON d.kind = 'Upload' AND u.id = d.id::uuid
        WHERE u.state IN ('starting', 'open')
        ORDER BY u.id
        FOR UPDATE OF u
    ),
    closed_uploads AS (
        UPDATE multipart_uploads u SET state = 'aborting', check_at = clock_timestamp()
        FROM open_uploads o WHERE u.id = o.id
        RETURNING 1
    ),
    audited AS (
        INSERT INTO admin_audit (id, actor, request_id, credential, operation, kind, resource_id, before)
        SELECT uuid_v7(), p_actor, p_request_id, p_credential, 'delete', d.kind, d.id, d.document FROM doomed d
    )
    SELECT count(*), offboarding_tag(array_agg(w.mark)),
        (SELECT array_agg(DISTINCT s.scope) FROM doomed d CROSS JOIN LATERAL unnest(d.scopes) AS s (scope)),
        (SELECT count(*) FROM gone_grants) + (SELECT count(*) FROM gone_members) + (SELECT count(*) FROM gone_keys)
            + (SELECT count(*) FROM gone_tickets) + (SELECT count(*) FROM closed_uploads)
    INTO v_count, v_found, v_scopes, v_gone
    FROM doomed w;
    IF v_gone <> v_count OR v_found IS DISTINCT FROM v_seen THEN
        RAISE EXCEPTION 'somebody else changes what % has', p_principal USING ERRCODE = 'serialization_failure';
    END IF;
    PERFORM set_config('sluice.offboarded', p_principal, true);
    -- The user's own scope comes first: what is held of the user is read again, whatever was removed.
    PERFORM append_policy_log(
        ARRAY[p_principal] || array_remove(coalesce(v_scopes, '{}'), p_principal), p_actor, p_request_id);
    RETURN v_count;
END
$$;
