-- Proves that the decisions on issuances still hold, as recording does, and that the issuances are those on record.
--
-- Keys live for 24 hours; two more cover a request that was under way when its key was pruned.
--
-- What was charged then counts, and not what the same request would be charged today. A decision by other rows may
-- permit more bytes than were counted, in a link that binds a range of lengths; it is not signed. Where no bytes were
-- counted then and they are now, only what has its bytes on record is.
--
-- A row names the bucket as it was when the issuance was decided. Once the bucket was changed, a signature may lead to
-- another store than the row says. So no line of the log since that decision may name the bucket, in the forms that
-- can_give_back tells; the log keeps its lines for longer than keys live. The credential is the one on record, also
-- where it has got another key since.
--
-- Arguments: as the arguments of record_issuances with the same names.
-- Result: for each item 0 both, -1 stale, -2 not on record like this, or the bucket was changed since.
-- Locks: the policy lock, shared, until the transaction ends.
-- Callers: record_issuances_once. Errors: invalid_transaction_state outside READ COMMITTED.
CREATE OR REPLACE FUNCTION prove_issuances(
    p_position_seqs bigint[], p_position_tags uuid[], p_scopes text[],
    p_item_positions integer[], p_scope_ends integer[], p_scope_refs integer[],
    p_ids uuid[], p_principals text[], p_credential_ids uuid[], p_deliveries text[], p_actions text[], p_methods text[],
    p_buckets text[], p_object_keys text[], p_expires_at timestamptz[], p_content_types text[], p_content_md5s bytea[],
    p_content_lengths bigint[], p_charge_ends integer[], p_charge_amounts bigint[]
) RETURNS integer[]
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    v_verdicts integer[];
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'proving needs read committed' USING ERRCODE = 'invalid_transaction_state';
    END IF;
    -- A statement of its own, so that the next one sees every change that was answered before.
    PERFORM pg_advisory_xact_lock_shared(advisory_lock('policy'));
    v_verdicts := stale_verdicts(
        p_position_seqs, p_position_tags, p_scopes, p_item_positions, p_scope_ends, p_scope_refs
    );
    RETURN ARRAY(
        WITH recorded AS MATERIALIZED (
            SELECT p AS item, i.policy_seq, i.principal = p_principals[p] AND i.credential_id = p_credential_ids[p]
                AND i.delivery = p_deliveries[p] AND i.action = p_actions[p] AND i.method = p_methods[p]
                AND i.bucket = p_buckets[p] AND i.object_key = p_object_keys[p] AND i.expires_at = p_expires_at[p]
                AND i.content_type IS NOT DISTINCT FROM p_content_types[p]
                AND i.content_md5 IS NOT DISTINCT FROM p_content_md5s[p]
                AND i.content_length IS NOT DISTINCT FROM p_content_lengths[p]
                AND coalesce(
                    (SELECT max(a) FROM unnest(p_charge_amounts[p_charge_ends[p] + 1:p_charge_ends[p + 1]]) AS a), 0
                ) <= greatest(1, i.content_length, (SELECT max(a) FROM unnest(i.quota_amounts) AS a)) AS is_same
            FROM generate_series(1, cardinality(p_ids)) AS p
            LEFT JOIN issuances i ON i.id = p_ids[p] AND i.issued_at > statement_timestamp() - interval '26 hours'
        ),
        changes AS MATERIALIZED (
            SELECT l.seq, l.scopes
            FROM policy_log l
            WHERE l.seq > (SELECT min(r.policy_seq) FROM recorded r)
                AND l.scopes
                    && ARRAY(SELECT 'buckets' UNION SELECT 'bucket:' || b FROM unnest(p_buckets) AS b) COLLATE "C"
        )
        SELECT CASE WHEN v_verdicts[r.item] <> 0 THEN v_verdicts[r.item] WHEN r.is_same AND NOT EXISTS (
            SELECT FROM changes c
            WHERE c.seq > r.policy_seq AND c.scopes && ARRAY['buckets', 'bucket:' || p_buckets[r.item]] COLLATE "C"
        ) THEN 0 ELSE -2 END
        FROM recorded r
        ORDER BY r.item
    );
END
$$;
