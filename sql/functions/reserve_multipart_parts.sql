-- Writes down parts that are about to be issued, within what their uploads may hold. It does so for many requests at
-- once; each stands for itself, and all of its parts are reserved or none.
--
-- The commit does not wait for the disk or a standby. The links of the parts are recorded after it, and no record is
-- durable before what was committed earlier.
--
-- Where several links were issued for a part, the longest counts. A part that was written down before, since the
-- request was sent again, stays as it is.
--
--   p_ids, p_counts                      the requests: an upload, and how many of the parts belong to it
--   p_issuance_ids, p_numbers, p_lengths  the parts of all requests, in their order; lengths may be NULL. A request
--                                        without parts is also answered for an upload that is being completed.
-- Result: a row for each request, in any order
--   place          the request, counted from 1
--   verdict        'reserved'; 'closed': the upload does not exist or takes no parts; 'too-large'; 'length-required':
--                  the upload was started with a length, and a part has none
--   object_length  bytes of all parts; NULL where a part has no length
--   max_length     the length with which the upload was started; NULL where there was none
-- Locks: the rows of the uploads, by ascending identifier. Callers: the gateway's role. Errors: check_violation of the
-- table's constraints.
CREATE OR REPLACE FUNCTION reserve_multipart_parts(
    p_ids uuid[], p_counts integer[], p_issuance_ids uuid[], p_numbers integer[], p_lengths bigint[]
)
RETURNS TABLE (place integer, verdict text, object_length bigint, max_length bigint)
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    v_request record;
    v_state text;
    v_issuance_ids uuid[];
    v_numbers integer[];
    v_lengths bigint[];
BEGIN
    -- Until the transaction ends.
    PERFORM set_config('synchronous_commit', 'off', true);
    FOR v_request IN
        SELECT r.id, r.place, r.count, sum(r.count) OVER (ORDER BY r.place) AS last
        FROM unnest(p_ids, p_counts) WITH ORDINALITY AS r (id, count, place)
        ORDER BY r.id, r.place
    LOOP
        place := v_request.place;
        v_issuance_ids := p_issuance_ids[v_request.last - v_request.count + 1:v_request.last];
        v_numbers := p_numbers[v_request.last - v_request.count + 1:v_request.last];
        v_lengths := p_lengths[v_request.last - v_request.count + 1:v_request.last];
        object_length := NULL;
        v_state := NULL;
        SELECT u.state, u.content_length INTO v_state, max_length
        FROM multipart_uploads u
        WHERE u.id = v_request.id
        FOR UPDATE;
        IF v_state IS NULL OR NOT (v_state = 'open' OR v_state = 'completing' AND v_request.count = 0) THEN
            verdict := 'closed';
            RETURN NEXT;
            CONTINUE;
        END IF;
        SELECT CASE WHEN count(*) = count(s.length) THEN coalesce(sum(s.length), 0) END INTO object_length
        FROM (
            SELECT CASE WHEN count(*) = count(p.length) THEN max(p.length) END AS length
            FROM (
                SELECT m.part_number AS number, m.content_length AS length
                FROM multipart_parts m
                WHERE m.upload_id = v_request.id
                UNION ALL
                SELECT t.number, t.length FROM unnest(v_numbers, v_lengths) AS t (number, length)
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
            SELECT t.issuance_id, v_request.id, t.number, t.length
            FROM unnest(v_issuance_ids, v_numbers, v_lengths) AS t (issuance_id, number, length)
            ON CONFLICT (issuance_id) DO NOTHING;
        END IF;
        RETURN NEXT;
    END LOOP;
END
$$;
