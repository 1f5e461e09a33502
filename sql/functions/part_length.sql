-- What the rows of one part in multipart_parts say of its length. Reads at most two of them.
--
--   p_upload_id, p_number   the part
-- Result: one row
--   known          the longest length; 0 where no row has one
--   is_unknown     whether a row has none
-- Locks: none. Callers: reserve_multipart_parts, release_multipart_parts. Errors: none.
CREATE OR REPLACE FUNCTION part_length(p_upload_id uuid, p_number integer)
RETURNS TABLE (known bigint, is_unknown boolean)
LANGUAGE sql STABLE
AS $$
    SELECT
        coalesce((
            SELECT max(m.content_length) FROM multipart_parts m
            WHERE m.upload_id = p_upload_id AND m.part_number = p_number
        ), 0),
        EXISTS (
            SELECT FROM multipart_parts m
            WHERE m.upload_id = p_upload_id AND m.part_number = p_number AND m.content_length IS NULL
        )
$$;
