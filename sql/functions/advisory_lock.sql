-- The key of an advisory lock, by its name. This file is the only place in SQL where the keys are written;
-- Sources/GatewayPostgres/Migration/AdvisoryLock.swift is the only one in Swift, and a test compares the two.
--
--   policy      Proves decisions. Recordings share it; a change of policy and a migration take it exclusively.
--   partitions  Lets one session at a time add days to the ledger.
--   migration   Lets one 'sluice migrate' run at a time.
--   sums        Lets one session at a time sum up the ledger, or remove days from it.
--   pruning     Lets one session at a time prune the policy log.
--   indexing    Lets one session at a time build indexes of days that are over.
--
-- The planner computes a call with a constant name when it plans the statement, so that naming a lock costs nothing
-- when the statement runs. A call inside a view or an index would keep an old key: there is none.
--
-- Argument: the name. Result: the key, for pg_advisory_xact_lock and its relatives. Locks: none.
-- Errors: case_not_found for a name that is not listed. (A null key would lock nothing, silently.)
CREATE OR REPLACE FUNCTION advisory_lock(p_name text) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
BEGIN
    CASE p_name
        WHEN 'policy' THEN RETURN 7310868744;
        WHEN 'partitions' THEN RETURN 7310868745;
        WHEN 'migration' THEN RETURN 7310868746;
        WHEN 'sums' THEN RETURN 7310868747;
        WHEN 'pruning' THEN RETURN 7310868748;
        WHEN 'indexing' THEN RETURN 7310868749;
    END CASE;
END
$$;
