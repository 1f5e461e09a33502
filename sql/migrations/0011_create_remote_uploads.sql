-- Uploads in parts that clients start with signatures of ours. The store tells the id of an upload to the client alone, so that
-- it is bound when it is first seen: to a user who started an upload of the same key, once for each start.
CREATE TABLE remote_uploads (
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    principal text COLLATE "C" NOT NULL,
    bucket text COLLATE "C" NOT NULL,
    object_key text COLLATE "C" NOT NULL,
    content_type text NOT NULL,
    -- NULL until the client came with it.
    upload_id text COLLATE "C",
    started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT remote_uploads_pkey PRIMARY KEY (id),
    CONSTRAINT remote_uploads_upload_id_key UNIQUE (bucket, upload_id)
);

CREATE INDEX remote_uploads_object_idx ON remote_uploads (bucket, object_key, principal) WHERE upload_id IS NULL;
CREATE INDEX remote_uploads_started_at_idx ON remote_uploads (started_at);

-- Remembers that a user is about to start an upload, and forgets some of those that are older than two weeks.
CREATE FUNCTION begin_remote_upload(p_principal text, p_bucket text, p_object_key text, p_content_type text) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = public, pg_temp
AS $$
BEGIN
    DELETE FROM remote_uploads u
    WHERE u.id = ANY (ARRAY(
        SELECT o.id FROM remote_uploads o
        WHERE o.started_at < clock_timestamp() - interval '14 days'
        LIMIT 20
        FOR UPDATE SKIP LOCKED
    ));
    INSERT INTO remote_uploads (principal, bucket, object_key, content_type)
    VALUES (p_principal, p_bucket, p_object_key, p_content_type);
END
$$;

-- Binds the id of an upload to a user who started one of the key; answers the type that it was started with, NULL where the id is
-- another user's or key's, or the user started none.
CREATE FUNCTION bind_remote_upload(p_principal text, p_bucket text, p_object_key text, p_upload_id text) RETURNS text
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = public, pg_temp
AS $$
DECLARE
    v_upload remote_uploads;
BEGIN
    -- Uploads that the gateway started itself have sizes and parts that it keeps account of.
    IF EXISTS (
        SELECT FROM multipart_uploads m
        WHERE m.bucket = p_bucket AND m.object_key = p_object_key AND m.store_upload_id = p_upload_id
    ) THEN
        RETURN NULL;
    END IF;
    -- Twice, since another call may bind the id between the two statements.
    FOR i IN 1..2 LOOP
        SELECT u.* INTO v_upload FROM remote_uploads u WHERE u.bucket = p_bucket AND u.upload_id = p_upload_id;
        IF FOUND THEN
            RETURN CASE WHEN v_upload.principal = p_principal AND v_upload.object_key = p_object_key
                THEN v_upload.content_type END;
        END IF;
        BEGIN
            UPDATE remote_uploads u
            SET upload_id = p_upload_id
            WHERE u.id = (
                SELECT o.id FROM remote_uploads o
                WHERE o.bucket = p_bucket AND o.object_key = p_object_key AND o.principal = p_principal
                    AND o.upload_id IS NULL AND o.started_at > clock_timestamp() - interval '7 days'
                ORDER BY o.started_at DESC LIMIT 1
                FOR UPDATE SKIP LOCKED
            )
            RETURNING u.* INTO v_upload;
            RETURN v_upload.content_type;
        EXCEPTION WHEN unique_violation THEN
            NULL;
        END;
    END LOOP;
    RETURN NULL;
END
$$;
