-- Writes down parts that are about to be issued, within what their uploads may hold. It does so for many requests at
-- once; each stands for itself, and all of its parts are reserved or none.
--
-- The commit does not wait for the disk or a standby. The links of the parts are recorded after it, and no record is
-- durable before what was committed earlier.
--
-- Where several links were issued for a part, the longest counts. The row of the upload holds the sum, so that the time
-- does not depend on the parts that were reserved before. A part that was written down before, since the
-- request was sent again, stays as it is.
--
--   p_ids, p_counts                      the requests: an upload, and how many of the parts belong to it
--   p_issuance_ids, p_numbers, p_lengths  the parts of all requests, in their order; lengths may be NULL. A request
--                                        without parts is also answered for an upload that is being completed.
--   p_waits                              whether to wait for an upload that somebody else has locked. Where many
--                                        requests travel together, one must not make the others wait.
-- Result: a row for each request, in any order
--   place          the request, counted from 1
--   verdict        'reserved'; 'closed': the upload does not exist or takes no parts; 'too-large'; 'length-required':
--                  the upload was started with a length, and a part has none; 'locked': somebody else has locked the
--                  upload, and nothing was reserved
--   object_length  bytes of all parts; NULL where a part has no length
--   max_length     the length with which the upload was started; NULL where there was none
-- Locks: the rows of the uploads, by ascending identifier. Callers: the gateway's role. Errors: check_violation of the
-- table's constraints.
CREATE OR REPLACE FUNCTION reserve_multipart_parts(
    p_ids uuid[], p_counts integer[], p_issuance_ids uuid[], p_numbers integer[], p_lengths bigint[], p_waits boolean
)
RETURNS TABLE (place integer, verdict text, object_length bigint, max_length bigint)
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    v_request record;
    v_state text;
    v_known bigint;
    v_unknown integer;
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
        SELECT u.state, u.content_length, u.parts_length, u.parts_of_unknown_length
        INTO v_state, max_length, v_known, v_unknown
        FROM multipart_uploads u
        WHERE u.id = v_request.id
        FOR UPDATE SKIP LOCKED;
        IF v_state IS NULL AND EXISTS (SELECT FROM multipart_uploads u WHERE u.id = v_request.id) THEN
            IF NOT p_waits THEN
                verdict := 'locked';
                max_length := NULL;
                RETURN NEXT;
                CONTINUE;
            END IF;
            SELECT u.state, u.content_length, u.parts_length, u.parts_of_unknown_length
            INTO v_state, max_length, v_known, v_unknown
            FROM multipart_uploads u
            WHERE u.id = v_request.id
            FOR UPDATE;
        END IF;
        IF v_state IS NULL OR NOT (v_state = 'open' OR v_state = 'completing' AND v_request.count = 0) THEN
            verdict := 'closed';
            RETURN NEXT;
            CONTINUE;
        END IF;
        IF v_request.count > 0 THEN
            SELECT v_known + sum(greatest(p.known - m.known, 0)),
                v_unknown + count(*) FILTER (WHERE p.is_unknown AND NOT m.is_unknown)
            INTO v_known, v_unknown
            FROM (
                SELECT t.number, coalesce(max(t.length), 0) AS known, bool_or(t.length IS NULL) AS is_unknown
                FROM unnest(v_numbers, v_lengths) AS t (number, length)
                GROUP BY t.number
            ) p
            CROSS JOIN LATERAL part_length(v_request.id, p.number) m;
        END IF;
        IF v_unknown = 0 THEN
            object_length := v_known;
        END IF;
        verdict := CASE
            WHEN max_length IS NULL OR object_length <= max_length THEN 'reserved'
            WHEN object_length IS NULL THEN 'length-required'
            ELSE 'too-large'
        END;
        IF verdict = 'reserved' AND v_request.count > 0 THEN
            WITH added AS (
                INSERT INTO multipart_parts (issuance_id, upload_id, part_number, content_length)
                SELECT t.issuance_id, v_request.id, t.number, t.length
                FROM unnest(v_issuance_ids, v_numbers, v_lengths) AS t (issuance_id, number, length)
                ON CONFLICT (issuance_id) DO NOTHING
            )
            UPDATE multipart_uploads u
            SET parts_length = v_known, parts_of_unknown_length = v_unknown
            WHERE u.id = v_request.id
                AND (u.parts_length <> v_known OR u.parts_of_unknown_length <> v_unknown);
        END IF;
        RETURN NEXT;
    END LOOP;
END
$$;
