-- Forgets parts that were reserved and then neither issued nor released: a gateway was killed, or could not release
-- them. Until then they count towards the length of their upload.
--
-- A request reserves its parts and records them afterwards. An hour later it has ended: it takes ten minutes at most,
-- and a recording that was sent more than a quarter of an hour ago by the server's clock is refused. A request that is
-- repeated has the identifiers that are on record, and new ones for the rest. They hold the instant of the request.
--
--   p_from  from when on to look, as the last call returned it; NULL, and what is more than a day ago or in the future,
--           mean a day ago
--   p_now   the caller's clock: of it and the server's, the earlier one counts
-- Result: one row
--   looked_to  up to when parts were looked at, ten minutes after p_from at most
--   has_more   whether there is more to look at
-- Locks: those of release_multipart_parts. Callers: the gateway's role. Errors: none.
CREATE OR REPLACE FUNCTION forget_unissued_parts(
    p_from timestamptz, p_now timestamptz, OUT looked_to timestamptz, OUT has_more boolean
)
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    v_now timestamptz := least(p_now, clock_timestamp());
    v_from timestamptz := CASE
        WHEN p_from BETWEEN v_now - interval '1 day' AND v_now THEN p_from
        ELSE v_now - interval '1 day'
    END;
    v_issuance_ids uuid[];
BEGIN
    looked_to := greatest(v_from, least(v_from + interval '10 minutes', v_now - interval '1 hour'));
    has_more := looked_to = v_from + interval '10 minutes';
    -- Identifiers begin with the time in milliseconds: these are the least ones of their instants.
    v_issuance_ids := ARRAY(
        SELECT p.issuance_id
        FROM multipart_parts p
        WHERE p.issuance_id >= rpad(
                lpad(to_hex((extract(epoch FROM v_from) * 1000)::bigint), 12, '0'), 32, '0')::uuid
            AND p.issuance_id < rpad(
                lpad(to_hex((extract(epoch FROM looked_to) * 1000)::bigint), 12, '0'), 32, '0')::uuid
            AND NOT EXISTS (
                SELECT FROM issuances i
                WHERE i.id = p.issuance_id AND i.issued_at > v_from - interval '1 day'
                    AND i.issued_at < looked_to + interval '1 day'
                -- Keeps PostgreSQL from reading these days.
                OFFSET 0
            )
    );
    PERFORM release_multipart_parts(v_issuance_ids);
END
$$;
