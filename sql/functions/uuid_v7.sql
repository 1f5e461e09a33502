-- Makes a UUID of version 7 (RFC 9562, section 5.7).
--
-- Result: the UUID. Locks: none. Callers: the gateway's role; offboard_principal. Errors: none.
CREATE OR REPLACE FUNCTION uuid_v7() RETURNS uuid
LANGUAGE sql VOLATILE
AS $$
    SELECT encode(
        -- Random bits, the time over the first 48; two more bits turn version 4 into 7.
        set_bit(set_bit(
            overlay(
                uuid_send(gen_random_uuid())
                PLACING substring(int8send((extract(epoch FROM clock_timestamp()) * 1000)::bigint) FROM 3) FROM 1 FOR 6
            ), 52, 1), 53, 1),
        'hex'
    )::uuid
$$;
