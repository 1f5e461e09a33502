-- Binds the identifier that a store gave to an upload to a user who started an upload of the same key, and tells the
-- content types that the upload may have.
--
-- The store tells the identifier to the client alone, so it is bound when the gateway first sees it: to the latest
-- start of the same user and key of the last seven days, once for each start. Which start it really was, only the
-- client knows. Seven days after its start, an upload gets no more signatures: its row must outlive the settling of its
-- last part. All types count whose starts are still kept: whichever start an identifier is bound to, the store may have
-- given it to another.
--
--   p_principal, p_bucket, p_object_key  who asks for a signature, and for what
--   p_upload_id                          the store's identifier
-- Result: the content types of all of the user's starts of the key that are kept, that of the bound one first, but no
-- more than 17; NULL where the identifier belongs to another user or key, the user started none in the last seven days,
-- or the gateway started the upload itself and keeps its sizes and parts.
-- Locks: the row of the start; it skips those that others hold. Runs with the owner's rights.
-- Callers: the gateway's role. Errors: none.
CREATE OR REPLACE FUNCTION remote_upload_types(
    p_principal text, p_bucket text, p_object_key text, p_upload_id text
) RETURNS text[]
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = public, pg_temp
AS $$
DECLARE
    v_after timestamptz := clock_timestamp() - interval '7 days';
    v_upload remote_uploads;
BEGIN
    IF EXISTS (
        SELECT FROM multipart_uploads m
        WHERE m.bucket = p_bucket AND m.object_key = p_object_key AND m.store_upload_id = p_upload_id
    ) THEN
        RETURN NULL;
    END IF;
    -- Twice, since another call may bind the identifier between the two statements.
    <<binding>>
    FOR i IN 1..2 LOOP
        SELECT u.* INTO v_upload FROM remote_uploads u WHERE u.bucket = p_bucket AND u.upload_id = p_upload_id;
        EXIT binding WHEN FOUND;
        BEGIN
            UPDATE remote_uploads u
            SET upload_id = p_upload_id
            WHERE u.id = (
                SELECT o.id FROM remote_uploads o
                WHERE o.bucket = p_bucket AND o.object_key = p_object_key AND o.principal = p_principal
                    AND o.upload_id IS NULL AND o.started_at > v_after
                ORDER BY o.started_at DESC LIMIT 1
                FOR UPDATE SKIP LOCKED
            )
            RETURNING u.* INTO v_upload;
            EXIT binding;
        EXCEPTION WHEN unique_violation THEN
            NULL;
        END;
    END LOOP;
    IF v_upload.principal = p_principal AND v_upload.object_key = p_object_key AND v_upload.started_at > v_after THEN
        -- Each type is a look-up of its own, however many starts there are.
        RETURN array_prepend(v_upload.content_type, ARRAY(
            WITH RECURSIVE types (content_type) AS (
                (
                    SELECT o.content_type FROM remote_uploads o
                    WHERE o.bucket = p_bucket AND o.object_key = p_object_key AND o.principal = p_principal
                    ORDER BY o.content_type LIMIT 1
                )
                UNION ALL
                SELECT n.content_type
                FROM types t
                CROSS JOIN LATERAL (
                    SELECT o.content_type FROM remote_uploads o
                    WHERE o.bucket = p_bucket AND o.object_key = p_object_key AND o.principal = p_principal
                        AND o.content_type > t.content_type
                    ORDER BY o.content_type LIMIT 1
                ) n
            )
            SELECT t.content_type FROM types t WHERE t.content_type <> v_upload.content_type LIMIT 16
        ));
    END IF;
    RETURN NULL;
END
$$;
