-- Notes for sum_landings what changed the bytes that landed: findings, completed uploads in parts, reports of stores.
--
-- Result: none. Locks: none. Callers: triggers. Errors: none.
CREATE OR REPLACE FUNCTION note_landing_changes() RETURNS trigger
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = public, pg_temp
AS $$
BEGIN
    CASE TG_TABLE_NAME
        WHEN 'landings' THEN
            INSERT INTO landing_changes (issuance_id) SELECT n.issuance_id FROM new_rows n;
        WHEN 'store_events' THEN
            INSERT INTO landing_changes (bucket, object_key, made_at)
            SELECT n.bucket, n.object_key, n.made_at FROM new_rows n;
        ELSE
            INSERT INTO landing_changes (issuance_id) VALUES (NEW.id);
    END CASE;
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER new_findings_are_noted
AFTER INSERT ON landings
REFERENCING NEW TABLE AS new_rows
FOR EACH STATEMENT EXECUTE FUNCTION note_landing_changes();

CREATE OR REPLACE TRIGGER changed_findings_are_noted
AFTER UPDATE ON landings
REFERENCING NEW TABLE AS new_rows
FOR EACH STATEMENT EXECUTE FUNCTION note_landing_changes();

CREATE OR REPLACE TRIGGER events_are_noted
AFTER INSERT ON store_events
REFERENCING NEW TABLE AS new_rows
FOR EACH STATEMENT EXECUTE FUNCTION note_landing_changes();

CREATE OR REPLACE TRIGGER completed_uploads_are_noted
AFTER UPDATE OF state ON multipart_uploads
FOR EACH ROW WHEN (NEW.state = 'completed' AND OLD.state <> 'completed')
EXECUTE FUNCTION note_landing_changes();
