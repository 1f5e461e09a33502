-- The transactions that share the policy lock, that is, those that may be recording.
--
-- Result: virtual transaction identifiers. Locks: none. Callers: sum_issuances. Errors: none.
CREATE OR REPLACE FUNCTION policy_lock_sharers() RETURNS SETOF text
LANGUAGE sql VOLATILE
AS $$
    SELECT l.virtualtransaction
    FROM pg_locks l
    WHERE l.locktype = 'advisory' AND l.granted AND l.mode = 'ShareLock'
        AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
        AND l.classid::bigint = advisory_lock('policy') >> 32
        AND l.objid::bigint = advisory_lock('policy') & 4294967295 AND l.objsubid = 1;
$$;
