-- The history of memberships, by change as that of grants: why something was permitted can be told later.
CREATE TABLE group_member_history (
    member_principal text COLLATE "C" NOT NULL,
    group_principal text COLLATE "C" NOT NULL,
    -- The tags of the lines in policy_log with which the membership began and ended.
    created_change uuid NOT NULL,
    removed_change uuid,
    CONSTRAINT group_member_history_pkey PRIMARY KEY (member_principal, group_principal, created_change)
);

-- A change that only counts by its time belongs to the line that was written next.
INSERT INTO group_member_history (member_principal, group_principal, created_change)
SELECT m.member_principal, m.group_principal, l.tag
FROM group_members m
CROSS JOIN LATERAL (
    SELECT p.tag FROM policy_log p WHERE p.at >= m.created_at OR NOT EXISTS (SELECT FROM policy_log o WHERE o.at >= m.created_at)
    ORDER BY (p.at >= m.created_at) DESC, p.seq LIMIT 1
) l;

-- Memberships that ended before are told by the audit.
INSERT INTO group_member_history (member_principal, group_principal, created_change, removed_change)
SELECT DISTINCT ON (a.before ->> 'member', a.before ->> 'group', c.tag)
    a.before ->> 'member', a.before ->> 'group', c.tag, r.tag
FROM admin_audit a
CROSS JOIN LATERAL (
    SELECT p.tag FROM policy_log p WHERE p.at >= (a.before ->> 'createdAt')::timestamptz ORDER BY p.seq LIMIT 1
) c
CROSS JOIN LATERAL (SELECT p.tag FROM policy_log p WHERE p.at >= a.at ORDER BY p.seq LIMIT 1) r
WHERE a.kind = 'GroupMember' AND a.operation = 'delete' AND a.before ? 'createdAt'
ON CONFLICT DO NOTHING;

-- As the owner: the gateway's role writes history only by changing memberships.
CREATE FUNCTION keep_membership() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = public, pg_temp
AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        UPDATE group_member_history h
        SET removed_change = current_policy_change()
        WHERE h.member_principal = OLD.member_principal AND h.group_principal = OLD.group_principal
            AND h.removed_change IS NULL;
    ELSE
        INSERT INTO group_member_history (member_principal, group_principal, created_change)
        VALUES (NEW.member_principal, NEW.group_principal, current_policy_change())
        -- Removed and made anew by one change.
        ON CONFLICT (member_principal, group_principal, created_change) DO UPDATE SET removed_change = NULL;
    END IF;
    RETURN NULL;
END
$$;

CREATE TRIGGER memberships_are_kept AFTER INSERT OR DELETE ON group_members
FOR EACH ROW EXECUTE FUNCTION keep_membership();

-- Removed versions of grants, for questions about the past.
CREATE INDEX grants_removed_idx ON grants (principal, bucket, prefix) WHERE removed_at IS NOT NULL;
CREATE INDEX grants_removed_templates_idx ON grants (principal, bucket) WHERE is_template AND removed_at IS NOT NULL;
