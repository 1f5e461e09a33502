-- Gateways make themselves known, so that the log of policy can be pruned of what none of them needs.

-- What runs, by its own word.
CREATE TABLE gateways (
    -- Of one start of one process.
    id uuid NOT NULL,
    version text NOT NULL,
    -- By the gateway's clock.
    started_at timestamptz NOT NULL,
    last_seen_at timestamptz NOT NULL,
    -- How far it has read the log of policy; NULL before it read anything.
    policy_seq bigint,
    policy_tag uuid,
    -- Seconds by which its clock was ahead of the database's when its last message arrived.
    clock_difference double precision NOT NULL,
    -- Identifiers of its master keys, the one that seals first.
    key_ids text[] NOT NULL,
    CONSTRAINT gateways_pkey PRIMARY KEY (id),
    CONSTRAINT gateways_policy_check CHECK ((policy_seq IS NULL) = (policy_tag IS NULL))
);

-- Says that a gateway runs, as each does every few seconds.
CREATE FUNCTION note_gateway(
    p_id uuid, p_version text, p_started_at timestamptz, p_sent_at timestamptz, p_policy_seq bigint, p_policy_tag uuid,
    p_key_ids text[]
) RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = public, pg_temp
BEGIN ATOMIC
    INSERT INTO gateways AS g (
        id, version, started_at, last_seen_at, policy_seq, policy_tag, clock_difference, key_ids
    )
    VALUES (
        p_id, p_version, p_started_at, clock_timestamp(), p_policy_seq, p_policy_tag,
        date_part('epoch', p_sent_at - statement_timestamp()), p_key_ids
    )
    ON CONFLICT (id) DO UPDATE SET
        last_seen_at = excluded.last_seen_at, policy_seq = excluded.policy_seq, policy_tag = excluded.policy_tag,
        clock_difference = excluded.clock_difference, key_ids = excluded.key_ids;
END;

-- Says that a gateway has stopped.
CREATE FUNCTION forget_gateway(p_id uuid) RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = public, pg_temp
BEGIN ATOMIC
    DELETE FROM gateways g WHERE g.id = p_id;
END;

-- Whether a gateway that was last seen then counts as running.
CREATE FUNCTION is_live_gateway(p_last_seen_at timestamptz) RETURNS boolean
LANGUAGE sql STABLE
RETURN p_last_seen_at > statement_timestamp() - interval '30 seconds';

-- What is kept of a line of policy_log that history rests on, once the line itself is gone.
CREATE TABLE past_changes (
    tag uuid NOT NULL,
    seq bigint NOT NULL,
    at timestamptz NOT NULL,
    CONSTRAINT past_changes_pkey PRIMARY KEY (tag)
);
CREATE INDEX past_changes_seq_idx ON past_changes (seq);

-- By change: what rests on it, also for the foreign keys.
CREATE INDEX grants_created_change_idx ON grants (created_change);
CREATE INDEX grants_removed_change_idx ON grants (removed_change) WHERE removed_change IS NOT NULL;
CREATE INDEX group_member_history_created_change_idx ON group_member_history (created_change);
CREATE INDEX group_member_history_removed_change_idx ON group_member_history (removed_change)
WHERE removed_change IS NOT NULL;
CREATE INDEX storage_credentials_rotated_change_idx ON storage_credentials (rotated_change)
WHERE rotated_change IS NOT NULL;

-- When policy changed: each line of the log, and of those that are gone each that history rests on.
CREATE VIEW policy_moments AS
SELECT l.seq, l.tag, l.at FROM policy_log l
UNION ALL
SELECT c.seq, c.tag, c.at FROM past_changes c;

CREATE OR REPLACE VIEW grant_history AS
SELECT g.id, g.principal, g.bucket, g.prefix, g.is_template, g.actions, g.effect, g.conditions, g.not_before, g.not_after,
    g.note, g.created_by, g.created_at, g.created_change, c.seq AS created_seq, g.removed_change, r.seq AS removed_seq,
    g.removed_at, g.removed_by
FROM grants g
JOIN policy_moments c ON c.tag = g.created_change
LEFT JOIN policy_moments r ON r.tag = g.removed_change;

-- Removes the oldest lines of policy_log and gateways not seen for a day; answers how many lines.
--
-- A line is kept for 32 days after the next one, as long as anything is that is looked up by it; as long as a live gateway has not
-- read it; and as long as it is the last one. What remains is without gaps: a decision proves that nothing changed since its line by the lines
-- after it, so that none of these may be missing while its own is there.
--
--   p_most  how many lines at the most
CREATE FUNCTION prune_policy_log(p_most integer) RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = public, pg_temp
-- One change may have made all grants, so that the planner takes each for one that did; the checks of foreign keys, too.
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
DECLARE
    v_below bigint;
    v_removed integer;
BEGIN
    DELETE FROM gateways g WHERE g.last_seen_at < clock_timestamp() - interval '1 day';
    -- One at a time.
    IF NOT pg_try_advisory_xact_lock(7310868748) THEN
        RETURN 0;
    END IF;
    SELECT least(
        (SELECT max(l.seq) FROM policy_log l),
        (SELECT min(l.seq) FROM policy_log l) + p_most,
        (SELECT min(g.policy_seq) FROM gateways g WHERE is_live_gateway(g.last_seen_at)),
        -- What was decided 32 days ago was decided at this one, however old it was then.
        coalesce((SELECT max(l.seq) FROM policy_log l WHERE l.at <= clock_timestamp() - interval '32 days'), 0)
    ) INTO v_below;

    INSERT INTO past_changes (tag, seq, at)
    SELECT l.tag, l.seq, l.at
    FROM policy_log l
    WHERE l.seq < v_below
        AND (
            EXISTS (SELECT FROM grants g WHERE g.created_change = l.tag)
            OR EXISTS (SELECT FROM grants g WHERE g.removed_change = l.tag)
            OR EXISTS (SELECT FROM group_member_history h WHERE h.created_change = l.tag)
            OR EXISTS (SELECT FROM group_member_history h WHERE h.removed_change = l.tag)
            OR EXISTS (SELECT FROM storage_credentials s WHERE s.rotated_change = l.tag)
        );
    DELETE FROM policy_changes c USING policy_log l
    WHERE l.seq < v_below AND c.id = l.tag AND NOT EXISTS (SELECT FROM past_changes p WHERE p.tag = l.tag);
    DELETE FROM policy_log l WHERE l.seq < v_below;
    GET DIAGNOSTICS v_removed = ROW_COUNT;
    RETURN v_removed;
END
$$;

-- As before; but where the log no longer tells of all changes since the decision, nothing is given back.
DROP FUNCTION is_unused;
CREATE FUNCTION is_unused(
    p_issuance_id uuid, p_bucket text, p_object_key text, p_dead_at timestamptz, p_proof text
) RETURNS boolean
LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT EXISTS (
        SELECT FROM issuances i
        JOIN buckets b ON b.name = p_bucket AND NOT b.external_deletions
        WHERE i.id = p_issuance_id AND i.issued_at > p_dead_at - interval '8 days'
            AND i.issued_at < p_dead_at + interval '1 day'
            AND i.delivery <> 'multipart-part'
            AND EXISTS (SELECT FROM policy_log l WHERE l.seq = i.policy_seq)
            AND NOT EXISTS (
                SELECT FROM policy_log l
                WHERE l.seq > i.policy_seq
                    AND l.scopes && ARRAY['all', 'bucket:' || p_bucket, 'credential:' || i.credential_id] COLLATE "C"
            )
            AND NOT EXISTS (
                SELECT FROM remote_uploads u
                WHERE u.bucket = p_bucket AND u.object_key = p_object_key
                    AND (p_proof = 'older' OR i.delivery = 'remote-signature')
            )
            AND NOT EXISTS (
                SELECT FROM multipart_uploads u
                WHERE p_proof = 'older' AND u.bucket = p_bucket AND u.object_key = p_object_key
                    AND u.created_at < p_dead_at + interval '1 hour'
                    AND (u.state NOT IN ('completed', 'aborted') OR u.expires_at > i.issued_at - interval '1 hour')
            )
    );
END;
