-- Writes down parts that are about to be issued, all or none, within what the upload may hold.
--
-- The commit does not wait for the disk or a standby. The links of the parts are recorded after it, and no record is
-- durable before what was committed earlier.
--
-- Where several links were issued for a part, the longest counts. A part that was written down before, since the
-- request was sent again, stays as it is.
--
--   p_id                                 the upload
--   p_issuance_ids, p_numbers, p_lengths  the parts; lengths may be NULL. Without parts, the call also answers for an
--                                        upload that is being completed.
-- Result
--   verdict        'reserved'; 'closed': the upload does not exist or takes no parts; 'too-large'; 'length-required':
--                  the upload was started with a length, and a part has none
--   object_length  bytes of all parts; NULL where a part has no length
--   max_length     the length with which the upload was started; NULL where there was none
-- Locks: the row of the upload. Callers: the gateway's role. Errors: check_violation of the table's constraints.
CREATE OR REPLACE FUNCTION reserve_multipart_parts(
    p_id uuid, p_issuance_ids uuid[], p_numbers integer[], p_lengths bigint[],
    OUT verdict text, OUT object_length bigint, OUT max_length bigint
)
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    v_state text;
BEGIN
    -- Until the transaction ends.
    PERFORM set_config('synchronous_commit', 'off', true);
    SELECT u.state, u.content_length INTO v_state, max_length
    FROM multipart_uploads u
    WHERE u.id = p_id
    FOR UPDATE;
    IF v_state IS NULL OR NOT (v_state = 'open' OR v_state = 'completing' AND cardinality(p_numbers) = 0) THEN
        verdict := 'closed';
        RETURN;
    END IF;
    SELECT CASE WHEN count(*) = count(s.length) THEN coalesce(sum(s.length), 0) END INTO object_length
    FROM (
        SELECT CASE WHEN count(*) = count(p.length) THEN max(p.length) END AS length
        FROM (
            SELECT m.part_number AS number, m.content_length AS length FROM multipart_parts m WHERE m.upload_id = p_id
            UNION ALL
            SELECT t.number, t.length FROM unnest(p_numbers, p_lengths) AS t (number, length)
        ) p
        GROUP BY p.number
    ) s;
    verdict := CASE
        WHEN max_length IS NULL OR object_length <= max_length THEN 'reserved'
        WHEN object_length IS NULL THEN 'length-required'
        ELSE 'too-large'
    END;
    IF verdict = 'reserved' THEN
        INSERT INTO multipart_parts (issuance_id, upload_id, part_number, content_length)
        SELECT t.issuance_id, p_id, t.number, t.length
        FROM unnest(p_issuance_ids, p_numbers, p_lengths) AS t (issuance_id, number, length)
        ON CONFLICT (issuance_id) DO NOTHING;
    END IF;
END
$$;
