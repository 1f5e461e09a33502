"""Rows of policy: a bucket with a quota, users with an API key and a grant each, and a number of further grants."""

import base64
import hashlib
import json
import secrets
import sys
from pathlib import Path

from gateway import Admin, Gateway, migrate

BUCKET = "bench"
ROLE = "bench_gateway"
MD5 = "1B2M2Y8AsgTpgAmY7PhCfg=="
CREDENTIAL = {"accessKeyID": "AKIDEXAMPLE", "secretAccessKey": "made-up/secret+0123456789abcdefABCDEF01"}
ENDPOINT, REGION = "https://store.example", "eu-west-1"
PLACE = {"provider": "s3", "endpoint": ENDPOINT, "region": REGION, "addressing": "path"}
PEER_SCHEMA = Path(__file__).resolve().parents[3] / "Benchmarks/peer/schema.sql"
URLS_PER_DAY = 1_000_000_000
# UUIDs of version 7, as the gateway makes them.
UUID = ("(lpad(to_hex((extract(epoch FROM clock_timestamp()) * 1000)::bigint), 12, '0')"
        " || '7' || substr(md5(random()::text), 1, 3) || '8' || substr(md5(random()::text), 1, 15))::uuid")
ROWS_IN_ONE_CHANGE = 100_000


class User:
    """A caller with an API key."""

    def __init__(self, number, key):
        self.name = name(number)
        self.principal = f"user:{self.name}"
        self.key = key
        self.prefix = key.split("_", 2)[1]
        self.digest = hashlib.sha256(key.encode()).hexdigest()
        self.object_key = f"users/{self.name}/uploads/photo-{number}.jpg"

    def wish(self):
        return {"action": "PutObject", "bucket": BUCKET, "key": self.object_key, "contentType": "image/jpeg",
                "contentMD5": MD5}


def name(number):
    return f"u{number:07d}"


def users(count):
    """New users; the public part of a key is the beginning of a digest, so that it spreads like a random one."""
    made = []
    for number in range(count):
        prefix = hashlib.sha256(secrets.token_bytes(16)).hexdigest()[:12]
        made.append(User(number, f"sluice_{prefix}_{base64.urlsafe_b64encode(secrets.token_bytes(32)).decode().rstrip('=')}"))
    return made


def prepare(database, database_name, binary, callers, grants=None, has_quota=True, credential=CREDENTIAL, place=PLACE):
    """Makes a migrated database in which every caller has a key, a grant and a quota; more grants belong to others.

    `place` says where the bucket is, and whatever else it has.
    """
    grants = grants or len(callers)
    print(f"making {database_name}: {len(callers):,} users, {grants:,} grants", file=sys.stderr, flush=True)
    database.query("postgres", f"CREATE DATABASE {database_name}")
    migrate(binary, database.url(database_name))
    database.query(database_name, f"DO $$ BEGIN CREATE ROLE {ROLE} LOGIN IN ROLE sluice_gateway;"
                                  " EXCEPTION WHEN duplicate_object THEN NULL; END $$")
    log = database.directory / f"{database_name}-setup.log"
    with Gateway(binary, database.url(database_name, ROLE), log) as gateway, Admin(gateway) as admin:
        credential = admin.create("/admin/v1/storage-credentials", {"name": "bench", **credential})
        admin.create("/admin/v1/buckets", {
            "name": BUCKET, "credentialID": credential["id"], "maxTTL": 3600, **place})
        if has_quota:
            admin.create("/admin/v1/quotas", {
                "principal": "*", "bucket": BUCKET, "metric": "urls", "period": "day", "sharing": "each",
                "limit": URLS_PER_DAY})
    for some in _slices(callers):
        _change(database, database_name, "INSERT INTO api_keys (id, prefix, hash, name, principal, groups, roles) VALUES "
                + ", ".join(f"({UUID}, '{one.prefix}', '\\x{one.digest}', 'bench', '{one.principal}', '{{}}', '{{}}')"
                            for one in some))
    _add_grants(database, database_name, len(callers), grants)
    database.query(database_name, "VACUUM ANALYZE")


def prepare_peer(database, database_name, callers):
    """The same for the peer service."""
    database.query("postgres", f"CREATE DATABASE {database_name}")
    database.query(database_name, PEER_SCHEMA.read_text())
    database.query(database_name, f"""
        INSERT INTO buckets VALUES
            ('{BUCKET}', '{ENDPOINT}', '{REGION}', '{CREDENTIAL["accessKeyID"]}', '{CREDENTIAL["secretAccessKey"]}');
        INSERT INTO quotas VALUES ('{BUCKET}', 'PutObject', {URLS_PER_DAY});
    """)
    for some in _slices(callers):
        database.query(database_name, "INSERT INTO api_keys (prefix, hash, principal) VALUES "
                       + ", ".join(f"('{one.prefix}', '\\x{one.digest}', '{one.principal}')" for one in some))
        database.query(database_name, "INSERT INTO grants (principal, bucket, prefix, actions) VALUES "
                       + ", ".join(f"('{one.principal}', '{BUCKET}', 'users/{one.name}/', '{{PutObject,GetObject}}')"
                                   for one in some))
    database.query(database_name, "VACUUM ANALYZE")


def requests(file, callers, body=User.wish, word=None, tokens=None):
    """Writes what callers send, a line each: a body, or none; by API key, or by the tokens given; and the word that
    takes the place of `{}` in the path."""
    with file.open("w") as lines:
        for number, one in enumerate(callers):
            content = body(one)
            columns = [json.dumps(content) if content else "", tokens[number] if tokens else one.key]
            lines.write("\t".join(columns + [word(one)] if word else columns) + "\n")
    # The database's directory belongs to another user.
    file.chmod(0o644)
    return file


def crowd(database, database_name, caller, count):
    """Gives a caller so many grants more, each for a folder of its own."""
    _change(database, database_name, f"""
        INSERT INTO grants (id, principal, bucket, prefix, is_template, actions, effect, conditions, created_by)
        SELECT {UUID}, '{caller.principal}', '{BUCKET}', 'crowd/' || n || '/', false, '{{PutObject}}', 'allow', '{{}}', 'user:bench'
        FROM generate_series(1, {count}) AS n
    """)


def _add_grants(database, database_name, callers, count):
    """One to each caller, the rest spread over other principals, ten each."""
    for first in range(0, count, ROWS_IN_ONE_CHANGE):
        last = min(count, first + ROWS_IN_ONE_CHANGE) - 1
        _change(database, database_name, f"""
            WITH made AS MATERIALIZED (
                SELECT n, n < {callers} AS asks, CASE WHEN n < {callers} THEN n ELSE {callers} + n / 10 END AS number
                FROM generate_series({first}::bigint, {last}) AS n
            )
            INSERT INTO grants (id, principal, bucket, prefix, is_template, actions, effect, conditions, created_by)
            SELECT {UUID}, 'user:u' || lpad(number::text, 7, '0'), '{BUCKET}',
                'users/u' || lpad(number::text, 7, '0') || '/' || CASE WHEN asks THEN '' ELSE n || '/' END,
                false, '{{PutObject,GetObject}}', 'allow', '{{}}', 'user:bench'
            FROM made
        """)


def _change(database, database_name, statement):
    database.query(database_name, f"BEGIN; {statement}; SELECT append_policy_log('{{all}}', 'bench', 'bench'); COMMIT;")


def _slices(callers):
    return [callers[first:first + ROWS_IN_ONE_CHANGE] for first in range(0, len(callers), ROWS_IN_ONE_CHANGE)]
