-- What gateways of 1.0.0 do, by their statements, which are prepared under their names. Each part is one transaction.

-- An admin adds a bucket with its credential, a quota of bytes and a grant.
EXECUTE "StorageCredentialTable.insert"(
    '00000000-0000-7000-8000-000000000001', 'scenario', 'AKID', '\x00', 'k1', NULL, 'access-key', NULL
);
EXECUTE "BucketTable.insert"(
    'scenario', 's3', 'https://store.example', 'eu-west-1', 'path', 'aws-v4', '00000000-0000-7000-8000-000000000001',
    900, 3600, false, false, false, false, false, NULL, NULL, NULL, '{}', 43200, '{}', '{}', NULL, 0
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
EXECUTE "PolicyLogTable.append"('{user:scenario,bucket:scenario}', 'user:admin', 'request-1', 1, NULL);
-- Then
-- A gateway announces itself and reads the end of the log, what changed, and the rows of a caller and a bucket.
EXECUTE "Heartbeat.note"(
    '00000000-0000-7000-8000-000000000005', '1.0.0', now(), now(), NULL, NULL, '{k1:0123456789abcdef}', 6, '\x00'
);
CREATE TEMP TABLE place AS EXECUTE "PolicyStatements.changes"(NULL, NULL, 1000);
DO $$
DECLARE
    v_row record;
    v_rows integer := 0;
BEGIN
    ASSERT (SELECT seq FROM place) = current_setting('scenario.before')::bigint + 1, 'the change has a line';
    FOR v_row IN EXECUTE $e$
        EXECUTE "PolicyStatements.load"(
            '{user:scenario}', '{scenario}', '{NULL}', '{NULL}', '{NULL}', '{NULL}', 100
        )
    $e$ LOOP
        v_rows := v_rows + 1;
        ASSERT v_row::text LIKE '%00000000-0000-7000-8000-000000000003%', 'the grant is read';
        ASSERT v_row::text LIKE '%https://store.example%', 'the bucket is read';
    END LOOP;
    ASSERT v_rows = 1, 'one row for the caller';
END
$$;
CREATE FUNCTION pg_temp.seq() RETURNS bigint LANGUAGE sql AS 'SELECT seq FROM place';
CREATE FUNCTION pg_temp.tag() RETURNS uuid LANGUAGE sql AS 'SELECT tag FROM place';
-- Then
-- It records an upload of 60 bytes, is refused another one, and records a download with others.
CREATE TEMP TABLE one AS EXECUTE "RecordBatch.recordOne"(
    now(), 5, pg_temp.seq(), pg_temp.tag(), '{user:scenario,bucket:scenario}', '00000000-0000-7000-8000-000000000011',
    'user:scenario', 'user:scenario', '00000000-0000-7000-8000-000000000003', '00000000-0000-7000-8000-000000000001',
    'presigned-url', 'PutObject', 'PUT', 'scenario', 'a/1', now() - interval '1 hour', 'text/plain', NULL, 60,
    'request-2', '00000000-0000-7000-8000-000000000002', 'user:scenario', 'total', false, 60, 100, true
);
CREATE TEMP TABLE two AS EXECUTE "RecordBatch.recordOne"(
    now(), 5, pg_temp.seq(), pg_temp.tag(), '{user:scenario,bucket:scenario}', '00000000-0000-7000-8000-000000000012',
    'user:scenario', 'user:scenario', '00000000-0000-7000-8000-000000000003', '00000000-0000-7000-8000-000000000001',
    'presigned-url', 'PutObject', 'PUT', 'scenario', 'a/2', now() + interval '1 hour', 'text/plain', NULL, 60,
    'request-3', '00000000-0000-7000-8000-000000000002', 'user:scenario', 'total', false, 60, 100, true
);
CREATE TEMP TABLE several AS EXECUTE "RecordBatch.record"(
    now(), 5, ARRAY[pg_temp.seq()], ARRAY[pg_temp.tag()], '{user:scenario,bucket:scenario}', '{1,1}', '{2,4}',
    '{1,2,1,2}', '{00000000-0000-7000-8000-000000000013,00000000-0000-7000-8000-000000000014}',
    '{user:scenario,user:scenario}', '{user:scenario,user:scenario}',
    '{00000000-0000-7000-8000-000000000003,00000000-0000-7000-8000-000000000003}',
    '{00000000-0000-7000-8000-000000000001,00000000-0000-7000-8000-000000000001}', '{presigned-url,presigned-url}',
    '{GetObject,GetObject}', '{GET,GET}', '{scenario,scenario}', '{a/3,a/4}',
    ARRAY[now() + interval '1 hour', now() + interval '1 hour'], '{NULL,NULL}', '{NULL,NULL}', '{NULL,NULL}',
    '{request-4,request-4}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', false, '{0,0,0}', '{}', '{}', '{}'
);
DO $$
BEGIN
    ASSERT (SELECT record_issuance FROM one) = '{0,60,NULL}', (SELECT record_issuance::text FROM one);
    ASSERT (SELECT record_issuance FROM two) = '{1,60,NULL}', (SELECT record_issuance::text FROM two);
    ASSERT (SELECT verdicts IS NULL AND ahead IS NULL FROM several), (SELECT several::text FROM several);
    ASSERT (SELECT count(*) FROM issuances WHERE bucket = 'scenario') = 3, 'three rows in the ledger';
END
$$;
-- Then
-- It settles the upload, which never arrived, so that its bytes are free again.
CREATE TEMP TABLE due (
    issuance_id, quota_id, bucket, object_key, overdue, permitted_at, dead_at, is_part, has_ended, is_listed, discarded
) AS EXECUTE "ReservationSweeper.takeDue"(0, 100, now(), 5, 300, '{}');
DO $$
BEGIN
    ASSERT (SELECT string_agg(object_key, ' ') FROM due) = 'a/1', (SELECT string_agg(due::text, ' ') FROM due);
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
EXECUTE "PolicyLogTable.append"(
    '{user:scenario}', 'user:admin', 'request-5', 1,
    jsonb_build_object('seq', pg_temp.seq(), 'tag', pg_temp.tag(), 'scopes', '["apikey:scenario"]'::jsonb)::text);
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
