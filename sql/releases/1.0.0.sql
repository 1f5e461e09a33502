-- What gateways of 1.0.0 do, by their statements, which are prepared under their names. Each part is one transaction.

-- An admin adds a bucket with its credential, a quota of bytes and a grant.
EXECUTE "StorageCredentialTable.insert"(
    '00000000-0000-7000-8000-000000000001', 'scenario', 'AKID', '\x00', 'k1', NULL, 'access-key', NULL
);
EXECUTE "BucketTable.insert"(
    'scenario', 's3', 'https://store.example', 'eu-west-1', 'path', 'aws-v4', '00000000-0000-7000-8000-000000000001',
    900, 3600, false, false, false, false, false, NULL, NULL, '{}', 43200, '{}', '{}', NULL, 0
);
EXECUTE "QuotaTable.insert"(
    '00000000-0000-7000-8000-000000000002', 'user:scenario', 'scenario', 'PutObject', 'bytes', 'total', 'each', 100
);
EXECUTE "GrantTable.insert"(
    '00000000-0000-7000-8000-000000000003', 'user:scenario', 'scenario', 'a/', false, '{GetObject,PutObject}', 'allow',
    '{}', NULL, NULL, '', 'user:admin', NULL
);
EXECUTE "AuditTable.insert"(
    '00000000-0000-7000-8000-000000000004', 'user:admin', 'request-1', NULL, 'create', 'Grant',
    '00000000-0000-7000-8000-000000000003', NULL, '{}'
);
SELECT set_config('scenario.before', (SELECT max(seq) FROM policy_log)::text, false);
EXECUTE "PolicyLogTable.append"('{user:scenario,bucket:scenario}', 'user:admin', 'request-1', 1);
-- Then
-- A gateway announces itself and reads the end of the log, what changed, and the rows of a caller and a bucket.
EXECUTE "Heartbeat.note"(
    '00000000-0000-7000-8000-000000000005', '1.0.0', now(), now(), NULL, NULL, '{k1}', 6, '\x00'
);
CREATE TEMP TABLE place AS EXECUTE "PolicyStatements.changes"(NULL, NULL, 1000);
CREATE TEMP TABLE due AS EXECUTE "ReservationSweeper.takeDue"(0, 100, now(), 5, 300);
DO $$
BEGIN
    ASSERT (SELECT bucket || ',' || object_key FROM due) = 'scenario,a/1', (SELECT string_agg(due::text, ' ') FROM due);
END
$$;
EXECUTE "ReservationSweeper.settle"(
    '{00000000-0000-7000-8000-000000000011}', '{00000000-0000-7000-8000-000000000002}', '{absent}', '{true}', 60
);
DO $$
BEGIN
    ASSERT (SELECT used FROM quota_usage WHERE quota_id = '00000000-0000-7000-8000-000000000002') = 0, 'given back';
    ASSERT NOT EXISTS (SELECT FROM reservations WHERE bucket = 'scenario'), 'no reservation is left';
END
$$;
-- Then
-- An admin revokes the grant.
EXECUTE "GrantTable.remove"('00000000-0000-7000-8000-000000000003', 'user:admin');
EXECUTE "PolicyLogTable.append"('{user:scenario}', 'user:admin', 'request-5', 1);
-- Then
-- What was decided before is stale, and the gateway learns why.
CREATE TEMP TABLE late AS EXECUTE "RecordBatch.recordOne"(
    now(), 5, pg_temp.seq(), pg_temp.tag(), '{user:scenario,bucket:scenario}', '00000000-0000-7000-8000-000000000015',
    'user:scenario', 'user:scenario', '00000000-0000-7000-8000-000000000003', '00000000-0000-7000-8000-000000000001',
    'presigned-url', 'GetObject', 'GET', 'scenario', 'a/5', now() + interval '1 hour', NULL, NULL, NULL, 'request-6',
    NULL, NULL, NULL, NULL, NULL, NULL, NULL
);
CREATE TEMP TABLE news AS EXECUTE "PolicyStatements.changes"(pg_temp.seq(), pg_temp.tag(), 1000);
EXECUTE "Heartbeat.forget"('00000000-0000-7000-8000-000000000005');
DO $$
BEGIN
    ASSERT (SELECT record_issuance FROM late) = '{-1}', (SELECT record_issuance::text FROM late);
    ASSERT (SELECT "case" FROM news) = '{user:scenario}', (SELECT news::text FROM news);
    ASSERT NOT EXISTS (SELECT FROM gateways WHERE id = '00000000-0000-7000-8000-000000000005'), 'it is forgotten';
END
$$;
