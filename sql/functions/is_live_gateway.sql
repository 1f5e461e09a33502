-- Whether a gateway counts as running. Gateways make themselves known every five seconds. One that was last seen later
-- than now was seen before the server's clock was set back.
--
--   p_last_seen_at  when it last did
-- Result: true within 30 seconds, before or after. Locks: none. Callers: the gateway's role; prune_policy_log.
-- Errors: none.
CREATE OR REPLACE FUNCTION is_live_gateway(p_last_seen_at timestamptz) RETURNS boolean
LANGUAGE sql STABLE
AS $$
    SELECT p_last_seen_at > statement_timestamp() - interval '30 seconds'
        AND p_last_seen_at <= statement_timestamp() + interval '30 seconds'
$$;
