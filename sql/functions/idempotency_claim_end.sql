-- The end of a claim of an idempotency key that is made or renewed now. Gateways renew their claims every second.
--
-- Result: an instant. Locks: none. Callers: the gateway's role; the functions on idempotency_keys. Errors: none.
CREATE OR REPLACE FUNCTION idempotency_claim_end() RETURNS timestamptz
LANGUAGE sql VOLATILE
AS $$
    SELECT clock_timestamp() + interval '5 seconds'
$$;
