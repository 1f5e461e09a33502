-- Keeps the history of group memberships: a trigger on group_members.
--
-- It runs with the owner's rights: the gateway's role can write the history only by changing memberships.
--
-- Locks: the row of the history. Errors: none.
CREATE OR REPLACE FUNCTION keep_membership() RETURNS trigger
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
        -- Removed and created again by one change.
        ON CONFLICT (member_principal, group_principal, created_change) DO UPDATE SET removed_change = NULL;
    END IF;
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER memberships_are_kept AFTER INSERT OR DELETE ON group_members
FOR EACH ROW EXECUTE FUNCTION keep_membership();
