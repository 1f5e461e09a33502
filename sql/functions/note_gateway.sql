-- Writes down that a gateway is running; each gateway does so every five seconds.
--
--   p_id          one start of one process
--   p_version     the program's version
--   p_started_at  when it started, by its clock
--   p_sent_at     its clock when it sent the statement
--   p_policy_seq, p_policy_tag  how far it has read policy_log; NULL where it has not
--   p_key_ids     its master keys: of each the identifier, a colon and a fingerprint. The one that seals comes first;
--                 while another one is about to, an empty text does, and keys to come are among the rest
--   p_schema_version  the highest migration that its program carries
--   p_function_set    SHA-256 of the names and contracts of the functions that its program carries
-- Result: none. Locks: its row. Runs with the owner's rights. Callers: the gateway's role. Errors: none.
CREATE OR REPLACE FUNCTION note_gateway(
    p_id uuid, p_version text, p_started_at timestamptz, p_sent_at timestamptz, p_policy_seq bigint, p_policy_tag uuid,
    p_key_ids text[], p_schema_version integer, p_function_set bytea
) RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = public, pg_temp
AS $$
    INSERT INTO gateways AS g (
        id, version, started_at, last_seen_at, policy_seq, policy_tag, clock_difference, key_ids, schema_version,
        function_set
    )
    VALUES (
        p_id, p_version, p_started_at, clock_timestamp(), p_policy_seq, p_policy_tag,
        date_part('epoch', p_sent_at - statement_timestamp()), p_key_ids, p_schema_version,
        p_function_set
    )
    ON CONFLICT (id) DO UPDATE SET
        last_seen_at = excluded.last_seen_at, policy_seq = excluded.policy_seq, policy_tag = excluded.policy_tag,
        clock_difference = excluded.clock_difference, key_ids = excluded.key_ids;
$$;
