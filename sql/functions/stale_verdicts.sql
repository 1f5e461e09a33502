-- Tells which items of a batch rest on policy that has changed.
--
-- It is VOLATILE, so that it reads in a snapshot of its own, after the policy lock was taken.
--
-- Arguments: as the arguments of record_issuances with the same names.
-- Result: for each item -1 where policy changed after its decision or its position is not in the log, else 0.
-- Locks: none; the caller holds the policy lock. Callers: record_issuances, prove_issuances. Errors: none.
CREATE OR REPLACE FUNCTION stale_verdicts(
    p_position_seqs bigint[], p_position_tags uuid[], p_scopes text[],
    p_item_positions integer[], p_scope_ends integer[], p_scope_refs integer[]
) RETURNS integer[]
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    RETURN (
        WITH changes AS MATERIALIZED (
            SELECT l.seq, l.scopes
            FROM policy_log l
            WHERE l.seq > (SELECT min(p.seq) FROM unnest(p_position_seqs) AS p (seq))
                AND l.scopes && (p_scopes || 'all'::text)
        )
        SELECT array_agg(
            CASE WHEN EXISTS (
                SELECT FROM policy_log l
                WHERE l.seq = p_position_seqs[i.position] AND l.tag = p_position_tags[i.position]
            ) AND NOT EXISTS (
                SELECT FROM changes c
                WHERE c.seq > p_position_seqs[i.position] AND c.scopes && (i.scopes || 'all'::text)
            ) THEN 0 ELSE -1 END
            ORDER BY i.item
        )
        FROM (
            SELECT t.item, t.position, ARRAY(
                SELECT p_scopes[p_scope_refs[n]]
                FROM generate_series(coalesce(p_scope_ends[t.item - 1], 0) + 1, t.scope_end) AS n
            ) AS scopes
            FROM unnest(p_item_positions, p_scope_ends) WITH ORDINALITY AS t (position, scope_end, item)
        ) i
    );
END
$$;
