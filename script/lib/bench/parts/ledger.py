"""The same load on an empty and on a full ledger, the queries of admins on the full one, and a partition that is
dropped under load."""

import contextlib
import shutil
import statistics
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

import rows
from database import Database
from disturbances import DroppedPartition
from gateway import Admin, Gateway
from load import During, Issue
from report import alternate, now, versions

CONNECTIONS = 64
ASKED = 20_000_000
# The fewest days that a ledger keeps; what is older can be dropped.
KEEP_DAYS = 32
FILLING = 4
REPETITIONS = 20
BYTES_PER_ROW = 1_200


def measure(chosen, report):
    with contextlib.ExitStack() as stack:
        database = stack.enter_context(Database())
        report.versions = versions(database)
        require_room(database, chosen.ledger_rows)
        callers = rows.users(chosen.users)
        requests = rows.requests(database.directory / "requests.txt", callers)
        gateways = {}
        for name, count in (("ledger_empty", 0), ("ledger_full", chosen.ledger_rows)):
            rows.prepare(database, name, chosen.binary, callers)
            # A partition to drop for each round, and for the first run, which is not counted.
            fill(database, name, count, KEEP_DAYS + 2 + chosen.rounds, len(callers), report)
            gateways[name] = stack.enter_context(
                Gateway(chosen.binary, database.url(name, rows.ROLE), database.directory / f"{name}.log"))
        load = lambda text, name, kind=Issue, **others: kind(
            text, [gateways[name]], CONNECTIONS, chosen.threads, requests, database, name, **others)
        dropped = DroppedPartition(database, "ledger_full", KEEP_DAYS)
        empty, full, dropping = series = alternate([
            load("an empty ledger", "ledger_empty"), load(f"{chosen.ledger_rows:,} rows in the ledger", "ledger_full"),
            load("the same, while a partition is dropped", "ledger_full", During, disturbance=dropped)], database, chosen)
        report.add(series)
        is_smaller = chosen.ledger_rows < ASKED
        report.ratio("ledger", full, empty, is_smaller=is_smaller, note=f"{chosen.ledger_rows:,} rows.")
        slowest = max(dropping.values("slowest"))
        report.ratio("dropping", dropping, full, "p99", is_smaller=is_smaller, note=(
            f"p99 {dropping.median('p99'):.1f} ms against {full.median('p99'):.1f} ms, slowest answer {slowest:.0f} ms;"
            f" emptying took up to {1000 * max(dropped.seconds['empty']):.0f} ms,"
            f" dropping {1000 * max(dropped.seconds['drop']):.0f} ms."))
        _ask(gateways["ledger_full"], callers, report, is_smaller)
        report.figure("size of the full database", database.number("postgres", "SELECT pg_database_size('ledger_full') >> 20"), "MB")


def require_room(database, count):
    """Fails where the rows, their index and the log of both would fill the disk."""
    free = shutil.disk_usage(database.directory).free
    if free < count * BYTES_PER_ROW:
        raise RuntimeError(f"{count:,} rows need {count * BYTES_PER_ROW >> 30} GB in {database.directory}, {free >> 30} GB are free")


def fill(database, name, count, days, users, report, yesterday=0):
    """Spreads rows evenly over the past days and today until now, as if links had been issued all the time.

    `yesterday` of the rows are of that day alone.
    """
    began = time.monotonic()
    day = "((clock_timestamp() AT TIME ZONE 'UTC')::date - {})"
    for back in range(days, 0, -1):
        database.query(name, f"SELECT create_issuances_partition({day.format(back)})")
    if not count:
        return
    print(f"making {count:,} rows of the ledger", file=sys.stderr, flush=True)
    each = (count - yesterday) // (days + 1)
    shares = [(back, each + (yesterday if back == 1 else 0)) for back in range(days, 0, -1)]
    shares.append((0, count - sum(share for _, share in shares)))

    def insert(share):
        back, some = share
        database.query(name, f"""
            SET synchronous_commit = off;
            INSERT INTO issuances (
                id, issued_at, policy_seq, principal, matched_principal, grant_id, credential_id, delivery, action, method,
                bucket, object_key, expires_at, content_type, content_md5, content_length, request_id, quota_ids,
                quota_amounts)
            SELECT (lpad(to_hex((extract(epoch FROM t.at) * 1000)::bigint), 12, '0') || '7' || substr(t.noise, 1, 3) || '8'
                    || substr(t.noise, 4, 15))::uuid,
                t.at, 2, t.principal, t.principal, o.id, g.credential_id, 'presigned-url', 'PutObject', 'PUT', '{rows.BUCKET}',
                'users/' || substr(t.principal, 6) || '/uploads/photo-' || t.n || '.jpg', t.at + interval '15 minutes',
                'image/jpeg', '\\xd41d8cd98f00b204e9800998ecf8427e', 1000 + t.n % 1000000, t.noise, g.quota_ids, '{{1}}'
            FROM (
                SELECT n, md5(n || ' {back}') AS noise, 'user:u' || lpad((n % {users})::text, 7, '0') AS principal,
                    d.day + (n - 1) * d.length / {some} AS at
                FROM generate_series(1::bigint, {some}) AS n, (
                    SELECT {day.format(back)}::timestamp AT TIME ZONE 'UTC' AS day,
                        least(interval '1 day', clock_timestamp() - {day.format(back)}::timestamp AT TIME ZONE 'UTC') AS length
                ) d
            ) t
            JOIN (SELECT id, principal FROM grants WHERE principal <= 'user:u' || lpad('{users - 1}', 7, '0')) o
                ON o.principal = t.principal
            CROSS JOIN LATERAL (
                SELECT (SELECT id FROM storage_credentials) AS credential_id, ARRAY(SELECT id FROM quotas) AS quota_ids OFFSET 0
            ) g
        """)

    with ThreadPoolExecutor(FILLING) as pool:
        list(pool.map(insert, [share for share in shares if share[1]]))
    # What was charged today must agree with today's rows, as it does where links were issued.
    database.query(name, """
        INSERT INTO quota_usage (quota_id, holder, period_start, shared, used)
        SELECT q.id, i.principal, quota_period_start(q.period, now()), false, count(*)
        FROM issuances i CROSS JOIN quotas q WHERE i.issued_at >= quota_period_start(q.period, now())
        GROUP BY q.id, q.period, i.principal
    """)
    # The upkeep sums up what was issued while it is issued.
    database.query(name, "DO $$ BEGIN WHILE sum_issuances(1) LOOP COMMIT; END LOOP; END $$")
    database.query(name, "DO $$ BEGIN WHILE sum_issuances(1) LOOP COMMIT; END LOOP; END $$")
    # And when hours and days are over.
    database.query(name, "DO $$ BEGIN WHILE sum_callers() LOOP COMMIT; END LOOP; END $$")
    # autovacuum may hold a day; the upkeep would try again in its next round.
    database.query(name, """
        DO $$
        DECLARE
            may_be_more boolean := true;
        BEGIN
            WHILE may_be_more LOOP
                BEGIN
                    may_be_more := index_closed_day();
                EXCEPTION WHEN lock_not_available THEN
                    PERFORM pg_sleep(0.5);
                END;
                COMMIT;
            END LOOP;
        END $$
    """)
    database.query(name, "VACUUM ANALYZE")
    report.figure(f"time to make {count:,} rows", time.monotonic() - began, "s")


def _ask(gateway, callers, report, is_smaller):
    """What admins look up for the last day, one question after another."""
    one, last_day = callers[len(callers) // 2], f"from={quote(now(-86_400))}"
    questions = {
        "the newest links": f"/admin/v1/issuances?{last_day}",
        "the newest that still work": "/admin/v1/issuances?alive=true",
        "the newest of one principal": f"/admin/v1/issuances?{last_day}&principal={quote(one.principal)}",
        "the newest in one bucket": f"/admin/v1/issuances?{last_day}&bucket={rows.BUCKET}",
        "the newest below one prefix": f"/admin/v1/issuances?{last_day}&bucket={rows.BUCKET}&prefix={quote(one.object_key)}",
        "use of one principal by the hour": f"/admin/v1/usage?{last_day}&principal={quote(one.principal)}",
        "use of all by the hour": f"/admin/v1/usage?{last_day}",
    }
    medians, refused = {}, []
    with Admin(gateway) as admin:
        for name, path in questions.items():
            times = []
            for _ in range(REPETITIONS):
                began = time.monotonic()
                status, body = admin.call("GET", path)
                times.append(1000 * (time.monotonic() - began))
                if status != 200:
                    refused.append(f"GET {path}: {status} {body.decode(errors='replace')}")
                    break
            else:
                medians[name] = statistics.median(times)
                report.figure(f"admins ask: {name}, median", medians[name], "ms")
                report.figure(f"admins ask: {name}, slowest of {REPETITIONS}", max(times), "ms")
    if refused:
        raise RuntimeError("; ".join(refused))
    note = ", ".join(f"{name} {median:.1f} ms" for name, median in medians.items()) + "."
    report.measured("queries", max(medians.values()), note=note, is_smaller=is_smaller)
