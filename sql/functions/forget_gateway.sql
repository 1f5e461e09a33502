-- Removes the row of a gateway that stops.
--
--   p_id  the gateway
-- Result: none. Locks: the row. Runs with the owner's rights. Callers: the gateway's role. Errors: none.
CREATE OR REPLACE FUNCTION forget_gateway(p_id uuid) RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = public, pg_temp
AS $$
    DELETE FROM gateways g WHERE g.id = p_id;
$$;
