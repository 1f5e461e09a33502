-- Kind: contract, serves from 3
--
-- No two live grants say the same, and no two quotas count the same, so that removing one revokes it.
--
-- Grants are the same if they differ in identifier, origin and note only. Quotas are the same if they differ in
-- identifier, origin and limit only.
--
-- A database may hold such rows already. Of the same grants, the oldest stays; the others end, as if an admin had
-- removed them, and their history is kept. What is allowed and refused stays as it is. Of the same quotas, the one with
-- the lowest limit stays, and of these the oldest; the others are deleted. The audit lists each row that goes.
--
-- Each of the same quotas counted what was issued since it was made or reset, and all of them counted each issuance in
-- that time. So the quota that stays goes on from the largest of their counters. Their sum would count an issuance
-- several times; its own counter may lack what was issued before it was made.

CREATE TEMP TABLE surplus_grants ON COMMIT DROP AS
SELECT n.id FROM (
    SELECT g.id, row_number() OVER (
        PARTITION BY g.principal, g.bucket, g.prefix, g.is_template, g.effect, 'PutObject' = ANY (g.actions),
            'GetObject' = ANY (g.actions), g.conditions, g.not_before, g.not_after
        ORDER BY g.created_at, g.id
    ) AS number
    FROM grants g WHERE g.removed_at IS NULL
) n
WHERE n.number > 1;

CREATE TEMP TABLE surplus_quotas ON COMMIT DROP AS
SELECT n.id, n.kept_id FROM (
    SELECT q.id, first_value(q.id) OVER (
        PARTITION BY q.principal, q.bucket, q.action, q.metric, q.period, q.sharing
        ORDER BY q.quota_limit, q.created_at, q.id
    ) AS kept_id
    FROM quotas q
) n
WHERE n.id <> n.kept_id;

-- Identifiers of the audit are UUIDs of version 7.
INSERT INTO admin_audit (id, actor, request_id, operation, kind, resource_id, before)
SELECT encode(
        set_bit(set_bit(
            overlay(
                uuid_send(gen_random_uuid())
                PLACING substring(int8send((extract(epoch FROM clock_timestamp()) * 1000)::bigint) FROM 3) FROM 1 FOR 6
            ), 52, 1), 53, 1),
        'hex'
    )::uuid, 'migration', '', 'delete', d.kind, d.id::text, d.document
FROM (
    SELECT 'Grant', g.id, jsonb_build_object(
        'id', g.id, 'principal', g.principal, 'bucket', g.bucket, 'prefix', g.prefix, 'isTemplate', g.is_template,
        'actions', g.actions, 'effect', g.effect, 'conditions', g.conditions, 'notBefore', g.not_before,
        'notAfter', g.not_after, 'note', g.note, 'createdBy', g.created_by, 'createdAt', g.created_at)
    FROM grants g JOIN surplus_grants s ON s.id = g.id WHERE g.removed_at IS NULL
    UNION ALL
    SELECT 'Quota', q.id, jsonb_build_object(
        'id', q.id, 'principal', q.principal, 'bucket', q.bucket, 'action', q.action, 'metric', q.metric,
        'period', q.period, 'sharing', q.sharing, 'limit', q.quota_limit, 'createdAt', q.created_at)
    FROM quotas q JOIN surplus_quotas s ON s.id = q.id
) AS d (kind, id, document);

UPDATE grants g
SET removed_at = clock_timestamp(), removed_by = 'migration', removed_change = current_policy_change()
FROM surplus_grants s
WHERE g.id = s.id AND g.removed_at IS NULL;

DELETE FROM quotas q USING surplus_quotas s WHERE q.id = s.id;

-- Nothing is recorded meanwhile, as the migration holds the policy lock. Nothing may be settled either.
LOCK TABLE reservations, quota_usage IN SHARE ROW EXCLUSIVE MODE;

-- The counters that take the place of one of a quota that stays.
CREATE TEMP TABLE larger_counters ON COMMIT DROP AS
SELECT l.* FROM (
    SELECT DISTINCT ON (s.kept_id, u.holder, u.period_start)
        s.kept_id, u.quota_id, u.holder, u.period_start, u.shared, u.used
    FROM (SELECT id, kept_id FROM surplus_quotas UNION SELECT kept_id, kept_id FROM surplus_quotas) s
    JOIN quota_usage u ON u.quota_id = s.id
    ORDER BY s.kept_id, u.holder, u.period_start, u.used DESC, u.quota_id <> s.kept_id, u.quota_id
) l
WHERE l.quota_id <> l.kept_id;

-- A counter equals its charges plus archived less released. Charges to the other quota become archived.
INSERT INTO quota_usage (quota_id, holder, period_start, shared, used, archived)
SELECT l.kept_id, l.holder, l.period_start, l.shared, l.used, l.used FROM larger_counters l
ON CONFLICT (quota_id, holder, period_start) DO UPDATE
SET archived = quota_usage.archived + excluded.used - quota_usage.used, used = excluded.used;

-- What may be given back is what is reserved on the counter that was taken.
DELETE FROM reservations r USING larger_counters l
WHERE r.quota_id = l.kept_id AND r.holder = l.holder AND r.period_start = l.period_start;
UPDATE reservations r SET quota_id = l.kept_id FROM larger_counters l
WHERE r.quota_id = l.quota_id AND r.holder = l.holder AND r.period_start = l.period_start;

-- What this principal may do, the lookup of the candidates of one key, and that no two live grants say the same. Prefix
-- and conditions together are too long for an index, so conditions are compared by a digest of their text, which is the
-- same for equal objects.
CREATE UNIQUE INDEX grants_rule_idx ON grants (
    principal, bucket, prefix, effect, ('PutObject' = ANY (actions)), ('GetObject' = ANY (actions)),
    (md5(conditions::text)::uuid), not_before, not_after
) NULLS NOT DISTINCT WHERE removed_at IS NULL;
DROP INDEX grants_principal_bucket_prefix_idx;

-- The quotas of a principal, and that no two of them count the same.
CREATE UNIQUE INDEX quotas_rule_idx ON quotas (principal, bucket, action, metric, period, sharing) NULLS NOT DISTINCT;
DROP INDEX quotas_principal_idx;

-- What a principal has, for offboarding.
CREATE INDEX api_keys_principal_idx ON api_keys (principal);
CREATE INDEX multipart_uploads_principal_idx ON multipart_uploads (principal)
WHERE state IN ('starting', 'open', 'completing');
