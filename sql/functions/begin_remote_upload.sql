-- Notes that a user is about to start an upload in parts with a signature of the gateway, and forgets a few old ones.
--
-- can_give_back relies on the 46 days that a start is kept. A completion is signed within seven days of the start and
-- works for seven more. The object that it makes may bear the time of the start, and so hide what a link wrote. That
-- link is judged up to 32 days after it was issued.
--
-- Users ask for this, so it reads by an index only what it deletes, however many starts are kept.
--
--   p_principal, p_bucket, p_object_key, p_content_type  of the upload
-- Result: none. Locks: the rows that it deletes; it skips those that others hold. Runs with the owner's rights.
-- Callers: the gateway's role. Errors: none.
CREATE OR REPLACE FUNCTION begin_remote_upload(
    p_principal text, p_bucket text, p_object_key text, p_content_type text
) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = public, pg_temp
AS $$
DECLARE
    v_before timestamptz := clock_timestamp() - interval '46 days';
BEGIN
    DELETE FROM remote_uploads u
    WHERE u.id = ANY (ARRAY(
        SELECT o.id FROM remote_uploads o
        WHERE o.started_at < v_before
        ORDER BY o.started_at
        LIMIT 20
        FOR UPDATE SKIP LOCKED
    ));
    INSERT INTO remote_uploads (principal, bucket, object_key, content_type)
    VALUES (p_principal, p_bucket, p_object_key, p_content_type);
END
$$;
