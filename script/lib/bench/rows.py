"""Rows of policy: a bucket, users with an API key and a grant each, and as many other grants as asked for."""

import base64
import hashlib
import json
import secrets

from gateway import Gateway, migrate

BUCKET = "bench"
ROLE = "bench_gateway"
# UUIDs of version 7, as the gateway makes them.
UUID = ("(lpad(to_hex((extract(epoch FROM clock_timestamp()) * 1000)::bigint), 12, '0')"
        " || '7' || substr(md5(random()::text), 1, 3) || '8' || substr(md5(random()::text), 1, 15))::uuid")
GRANTS_IN_ONE_CHANGE = 100_000


def prepare(database, name, binary, users, grants, directory):
    """Makes a migrated database with its rows; answers the file of requests that its users send."""
    database.query("postgres", f"CREATE DATABASE {name}")
    migrate(binary, database.url(name))
    database.query(name, f"DO $$ BEGIN CREATE ROLE {ROLE} LOGIN IN ROLE sluice_gateway;"
                         " EXCEPTION WHEN duplicate_object THEN NULL; END $$")
    with Gateway(binary, database.url(name, ROLE), directory / f"{name}-setup.log") as gateway:
        credential = gateway.create("/admin/v1/storage-credentials", {
            "name": "bench", "accessKeyID": "AKIDEXAMPLE", "secretAccessKey": secrets.token_hex(20)})
        gateway.create("/admin/v1/buckets", {
            "name": BUCKET, "provider": "s3", "endpoint": "https://store.example", "region": "eu-west-1",
            "addressing": "path", "credentialID": credential["id"], "maxTTL": 3600})
    requests = add_users(database, name, users, directory / f"{name}-requests.txt")
    add_grants(database, name, users, grants)
    database.query(name, "VACUUM ANALYZE")
    return requests


def add_users(database, name, count, file):
    """Users with an API key; each asks for an upload below a prefix of its own."""
    rows, lines = [], []
    for number in range(count):
        prefix = hashlib.sha256(f"{name} {number}".encode()).hexdigest()[:12]
        key = f"sluice_{prefix}_{base64.urlsafe_b64encode(secrets.token_bytes(32)).decode().rstrip('=')}"
        digest = hashlib.sha256(key.encode()).hexdigest()
        rows.append(f"({UUID}, '{prefix}', '\\x{digest}', 'bench', 'user:{user(number)}', '{{}}', '{{}}')")
        body = json.dumps({
            "action": "PutObject", "bucket": BUCKET, "key": f"users/{user(number)}/uploads/photo-{number}.jpg",
            "contentType": "image/jpeg", "contentMD5": "1B2M2Y8AsgTpgAmY7PhCfg=="})
        lines.append(f"{body}\t{key}\n")
    database.query(name, f"""
        BEGIN;
        INSERT INTO api_keys (id, prefix, hash, name, principal, groups, roles) VALUES {', '.join(rows)};
        SELECT append_policy_log('{{all}}', 'bench', 'bench');
        COMMIT;
    """)
    file.write_text("".join(lines))
    return file


def add_grants(database, name, users, count):
    """As many grants: one to each user that asks, the rest spread over a hundred times as many principals, ten each."""
    for first in range(0, count, GRANTS_IN_ONE_CHANGE):
        last = min(count, first + GRANTS_IN_ONE_CHANGE) - 1
        database.query(name, f"""
            BEGIN;
            CREATE TEMPORARY TABLE made ON COMMIT DROP AS
                SELECT {UUID} AS id, n, n < {users} AS asks,
                    CASE WHEN n < {users} THEN n ELSE n / 10 END AS number
                FROM generate_series({first}::bigint, {last}) AS n;
            INSERT INTO grants (id, principal, bucket, prefix, is_template, actions, effect, conditions, created_by)
                SELECT id, 'user:u' || lpad(number::text, 7, '0'), '{BUCKET}',
                    'users/u' || lpad(number::text, 7, '0') || '/' || CASE WHEN asks THEN '' ELSE n || '/' END,
                    false, '{{PutObject,GetObject}}', 'allow', '{{}}', 'user:bench'
                FROM made;
            SELECT append_policy_log('{{all}}', 'bench', 'bench');
            COMMIT;
        """)


def user(number):
    return f"u{number:07d}"
