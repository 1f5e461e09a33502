"""The views of the console, and what they ask of the admin API, with many grants and a full ledger: as an admin, and as
an admin of one bucket who may see few principals."""

import json
import statistics
import subprocess
import sys
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path
from urllib.parse import quote

import rows
from database import Database
from gateway import ADMIN_KEY, Admin, Gateway
from parts import ledger
from report import versions

ASKED = (1_000_000, 20_000_000)
DAYS = 33
SCRIPT = Path(__file__).resolve().parents[2] / "console_times.py"
REPETITIONS = 5


def measure(chosen, report):
    with Database() as database:
        report.versions = versions(database)
        ledger.require_room(database, chosen.ledger_rows)
        callers = rows.users(chosen.users)
        rows.prepare(database, "console", chosen.binary, callers, chosen.grants[-1])
        ledger.fill(database, "console", chosen.ledger_rows, DAYS, len(callers), report, yesterday=chosen.ledger_rows // 2)
        fill(database, "console")
        with Gateway(chosen.binary, database.url("console", rows.ROLE), database.directory / "console.log") as gateway:
            keys = {"admin": ADMIN_KEY, "few principals": delegate(gateway, callers)}
            is_smaller = (chosen.grants[-1], chosen.ledger_rows) < ASKED
            ask(gateway, keys, callers, report, is_smaller)
            look(gateway, keys, callers, chosen, report, is_smaller)


def fill(database, name):
    """Adds what admins did to make the grants, what landed of one upload in twenty, and refusals of a month.

    It also makes the grants older than the ledger.
    """
    print("making the audit, landings and refusals", file=sys.stderr, flush=True)
    database.query(name, """
        SET synchronous_commit = off;
        UPDATE grants SET created_at = created_at - interval '40 days';
        INSERT INTO admin_audit (id, at, actor, request_id, operation, kind, resource_id, after)
        SELECT (lpad(to_hex((extract(epoch FROM t.at) * 1000)::bigint), 12, '0') || '7' || substr(t.noise, 1, 3) || '8'
                || substr(t.noise, 4, 15))::uuid,
            t.at, 'user:admin-' || g.n % 20, 'bench', 'create', 'Grant', g.id::text, grant_document(g.g)
        FROM (SELECT g, g.id, row_number() OVER () AS n FROM grants g) g
        CROSS JOIN LATERAL (
            SELECT clock_timestamp() - g.n * interval '2 s' AS at, md5(g.n::text) AS noise
        ) t;
        INSERT INTO landings (issuance_id, finding, source, size, found_at)
        SELECT i.id, 'landed', 'confirmation', i.content_length, i.issued_at + interval '1 minute'
        FROM issuances i WHERE i.request_id < '0d';
        INSERT INTO denials (minute, principal, bucket, code, count)
        SELECT date_trunc('minute', clock_timestamp()) - n * interval '1 minute',
            'user:u' || lpad((n * 7 % 1000)::text, 7, '0'), 'bench',
            (ARRAY['AccessDenied', 'QuotaExceeded', 'EntityTooLarge'])[1 + n % 3], 1 + n % 5
        FROM generate_series(0, 40000) AS n;
    """)
    # The upkeep does this while uploads land.
    database.query(name, "DO $$ BEGIN WHILE sum_landings(20000, interval '0') LOOP COMMIT; END LOOP; END $$")
    database.query(name, "VACUUM ANALYZE")


def delegate(gateway, callers):
    """The key of an admin of the bucket who may see three principals."""
    named = [callers[place].principal for place in (len(callers) // 200, len(callers) // 2, len(callers) * 9 // 10)]
    return gateway.create("/admin/v1/api-keys", {
        "name": "few principals", "principal": "user:delegate", "roles": ["admin"],
        "adminScopes": [{"bucket": rows.BUCKET, "prefix": "", "principals": named}]})["key"]


def ask(gateway, keys, callers, report, is_smaller):
    """What the views ask, one question after another."""
    one = callers[len(callers) // 2]
    principal, prefix = quote(one.principal), quote(f"users/{one.name}/")
    today = datetime.now(timezone.utc).replace(hour=0, minute=0, second=0, microsecond=0)
    instant = lambda at: quote(at.strftime("%Y-%m-%dT%H:%M:%SZ"))
    day = f"from={instant(today - timedelta(days=1))}&to={instant(today)}"
    month = f"from={instant(today - timedelta(days=30))}"
    with Admin(gateway) as admin:
        grant = json.loads(admin.call("GET", f"/admin/v1/grants?principal={principal}")[1])["items"][0]["id"]
    questions = {
        "grants": "/admin/v1/grants?pageSize=50", "grants of one principal": f"/admin/v1/grants?principal={principal}",
        "grants at a prefix": f"/admin/v1/grants?bucket={rows.BUCKET}&prefix={prefix}",
        "grants that nobody used": "/admin/v1/grants:unused?pageSize=50",
        "links": "/admin/v1/issuances?pageSize=50",
        "links of one principal": f"/admin/v1/issuances?principal={principal}&{day}&pageSize=50",
        "links of nobody": f"/admin/v1/issuances?principal=user:nobody&{day}&pageSize=50",
        "links below a prefix": f"/admin/v1/issuances?bucket={rows.BUCKET}&prefix={prefix}&{day}&pageSize=50",
        "links of one grant": f"/admin/v1/issuances?grantID={grant}&{day}&pageSize=50",
        "links of nobody, a month": f"/admin/v1/issuances?principal=user:nobody&{month}&pageSize=50",
        "links of one principal that work": f"/admin/v1/issuances?principal={principal}&alive=true&pageSize=50",
        "links below a short prefix": f"/admin/v1/issuances?prefix={prefix[:-5]}&{day}&pageSize=50",
        "links below a short prefix without any": f"/admin/v1/issuances?prefix={quote('users/zz')}&{month}&pageSize=50",
        "links of a kind without any": f"/admin/v1/issuances?delivery=sts&{month}&pageSize=50",
        "uploads": "/admin/v1/uploads?pageSize=50",
        "uploads that landed, a day": f"/admin/v1/uploads?state=landed&{day}&pageSize=50",
        "uploads that landed of one principal, a month":
            f"/admin/v1/uploads?state=landed&principal={principal}&{month}&pageSize=50",
        "uploads that differ": f"/admin/v1/uploads?state=mismatched&{day}&pageSize=50",
        "audit": "/admin/v1/audit?pageSize=50", "audit of API keys": "/admin/v1/audit?kind=APIKey&pageSize=50",
        "audit of one admin": "/admin/v1/audit?actor=user:admin-3&pageSize=50",
        "audit from now": f"/admin/v1/audit?from={instant(datetime.now(timezone.utc))}&pageSize=50",
        "use of all, a day": f"/admin/v1/usage?{day}", "use of all, a month": f"/admin/v1/usage?{month}&by=day",
        "use of one principal, a day": f"/admin/v1/usage?{day}&principal={principal}",
        "use of one grant, a day": f"/admin/v1/usage?{day}&grantID={grant}",
        "use of one principal, a month": f"/admin/v1/usage?{month}&by=day&principal={principal}",
        "use by grant, a day": f"/admin/v1/usage?{day}&by=range&groupBy=grant&pageSize=8",
        "use by principal, a month": f"/admin/v1/usage?{month}&by=range&groupBy=principal&pageSize=8",
        "who used most, a day": f"/admin/v1/usage?{day}&by=range&groupBy=principal&pageSize=8",
        "refusals of a month": f"/admin/v1/denials?{month}&by=day&groupBy=code",
        "who reaches a prefix": f"/admin/v1/access?bucket={rows.BUCKET}&prefix={quote('users/')}",
    }
    slowest, refused = {}, []
    for owner, key in keys.items():
        with Admin(gateway, key) as admin:
            for name, path in questions.items():
                times = []
                for _ in range(REPETITIONS):
                    began = time.monotonic()
                    status, body = admin.call("GET", path)
                    times.append(1000 * (time.monotonic() - began))
                    if status != 200:
                        refused.append(f"{owner}: GET {path}: {status} {body.decode(errors='replace')[:200]}")
                        break
                slowest[f"{name} ({owner})"] = statistics.median(times)
                report.figure(f"{owner}: {name}, median", statistics.median(times), "ms")
    if refused:
        raise RuntimeError("; ".join(refused))
    for target, names in {"unused": ["grants that nobody used"],
                          "divided": ["who used most, a day", "use by grant, a day"]}.items():
        name = max((f"{name} (admin)" for name in names), key=slowest.get)
        report.measured(target, slowest[name], note=f"{name}.", is_smaller=is_smaller)
    name = max(slowest, key=slowest.get)
    report.measured("console-answers", slowest[name], note=f"the slowest: {name}.", is_smaller=is_smaller)


def look(gateway, keys, callers, chosen, report, is_smaller):
    """Opens each view in Chromium."""
    one = callers[len(callers) // 2]
    views = {
        "Home": "home", "Access explorer": f"access?principal={one.principal}", "Grants": "grants",
        "Grants of one principal": f"grants?principal={one.principal}", "Groups": "groups", "Try as a user": "try",
        "Quotas": "quotas", "Ledger": "ledger", "Ledger of one principal": f"ledger?principal={one.principal}",
        "Refusals": "denials", "Uploads": "uploads", "Audit": "audit", "Uploads in parts": "multipart",
        "Buckets": "buckets", "Credentials": "credentials", "Issuers": "issuers", "API keys": "api-keys",
        "Tickets": "tickets", "Emergency": f"emergency?principal={one.principal}",
        "Offboarding": f"offboarding?principal={one.principal}", "Gateways": "gateways",
    }
    done = subprocess.run(
        [chosen.browser_python, "-B", SCRIPT, gateway.base, str(chosen.rounds)],
        input=json.dumps({"keys": keys, "views": views}), text=True, stdout=subprocess.PIPE)
    if done.returncode != 0:
        raise RuntimeError("the browser failed")
    paints, late = {}, []
    for owner, found in json.loads(done.stdout).items():
        for view, times in found.items():
            if times["paint"] is not None:
                paints[f"{view} ({owner})"] = times["paint"]
                report.figure(f"{owner}: {view}, first paint", times["paint"], "ms")
            report.figure(f"{owner}: {view}, data", times["data"], "ms")
            if times["problems"]:
                late.append(f"{view} ({owner}): {times['problems'][0]}")
    name = max(paints, key=paints.get)
    report.measured("console-paint", paints[name], note=f"the slowest: {name}.", is_smaller=is_smaller)
    if late:
        raise RuntimeError("; ".join(late))
