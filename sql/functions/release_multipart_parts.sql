-- Forgets parts that were reserved and then not issued.
--
--   p_issuance_ids   the parts; those that are not reserved are left out
-- Result: none.
-- Locks: the rows of the uploads, by ascending identifier. Callers: the gateway's role, forget_unissued_parts.
-- Errors: none.
CREATE OR REPLACE FUNCTION release_multipart_parts(p_issuance_ids uuid[]) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    v_upload_id uuid;
    v_numbers integer[];
    v_known bigint[];
    v_unknown boolean[];
BEGIN
    FOR v_upload_id IN
        SELECT u.id FROM multipart_uploads u
        WHERE u.id IN (SELECT p.upload_id FROM multipart_parts p WHERE p.issuance_id = ANY (p_issuance_ids))
        ORDER BY u.id
        FOR UPDATE
    LOOP
        WITH removed AS (
            DELETE FROM multipart_parts p
            WHERE p.upload_id = v_upload_id AND p.issuance_id = ANY (p_issuance_ids)
            RETURNING p.part_number, p.content_length
        )
        SELECT array_agg(p.number), array_agg(p.known), array_agg(p.is_unknown) INTO v_numbers, v_known, v_unknown
        FROM (
            SELECT r.part_number AS number, coalesce(max(r.content_length), 0) AS known,
                bool_or(r.content_length IS NULL) AS is_unknown
            FROM removed r
            GROUP BY r.part_number
        ) p;
        -- A statement of its own, which no longer sees the rows.
        UPDATE multipart_uploads u
        SET parts_length = u.parts_length - d.known,
            parts_of_unknown_length = u.parts_of_unknown_length - d.unknown
        FROM (
            SELECT coalesce(sum(greatest(p.known - rest.known, 0)), 0) AS known,
                count(*) FILTER (WHERE p.is_unknown AND NOT rest.is_unknown) AS unknown
            FROM unnest(v_numbers, v_known, v_unknown) AS p (number, known, is_unknown)
            CROSS JOIN LATERAL part_length(v_upload_id, p.number) rest
        ) d
        WHERE u.id = v_upload_id AND (d.known > 0 OR d.unknown > 0);
    END LOOP;
END
$$;
