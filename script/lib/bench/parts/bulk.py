"""A million grants in, out and through: time, memory, and the rate of issuance meanwhile."""

import contextlib
import http.client
import json
import statistics
import threading
import time

import rows
from database import Database
from gateway import ADMIN_KEY, Gateway
from load import Wrk
from report import Series, versions

CONNECTIONS = 64
APPLIED = 10_000
ASKED = 1_000_000
PAGE = 1000
CHUNK = 1 << 20


def grant(number):
    row = {"principal": f"user:bulk-{number % 200_000:06d}", "bucket": rows.BUCKET, "prefix": f"teams/{number}/",
           "actions": ["PutObject", "GetObject"]}
    if number % 10 == 0:
        row["conditions"] = {"contentTypes": ["image/*"], "maxBytes": 10_485_760}
    return row


def call(gateway, method, path, body=None, kind="application/json", to=None):
    """Answers what came back and how many seconds it took; `to` is a file that takes the body instead."""
    headers = {"Authorization": f"Bearer {ADMIN_KEY}"}
    if body is not None:
        headers["Content-Type"] = kind
    connection = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=1200)
    with contextlib.closing(connection):
        began = time.monotonic()
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        if to:
            with to.open("wb") as file:
                while chunk := answer.read(CHUNK):
                    file.write(chunk)
            content = b""
        else:
            content = answer.read()
        seconds = time.monotonic() - began
    if answer.status != 200:
        raise RuntimeError(f"{method} {path}: {answer.status} {content[:1000].decode(errors='replace')}")
    return (json.loads(content) if content else None), seconds


def bring(gateway, file, query=""):
    """Imports a file; gives the answer and the seconds."""
    with file.open("rb") as body:
        return call(gateway, "POST", f"/admin/v1/grants:import{query}", body, "application/x-ndjson")


def bring_new(gateway, file, count):
    """Imports a file of so many new grants; gives the seconds."""
    answer, seconds = bring(gateway, file)
    if answer["created"] != count:
        raise RuntimeError(f"{answer['created']:,} grants were new")
    return seconds


def under_load(load, seconds, work):
    """The samples of a load, again and again until some work is done, and what the work gave."""
    done, failures, samples = [], [], []

    def run():
        try:
            done.append(work())
        except Exception as error:
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    while thread.is_alive():
        samples.append(load.run(seconds))
    thread.join()
    if failures:
        raise failures[0]
    return samples, done[0]


def measure(chosen, report):
    count = chosen.grants[-1]
    with contextlib.ExitStack() as stack:
        database = stack.enter_context(Database())
        report.versions = versions(database)
        callers = rows.users(chosen.users)
        file = database.directory / "grants.ndjson"
        with file.open("w") as lines:
            for number in range(count):
                lines.write(json.dumps(grant(number)) + "\n")
        rows.prepare(database, "alone", chosen.binary, callers)
        with Gateway(chosen.binary, database.url("alone", rows.ROLE), database.directory / "alone.log") as gateway:
            alone = bring_new(gateway, file, count)
        database.query("postgres", "DROP DATABASE alone")
        rows.prepare(database, "sluice", chosen.binary, callers)
        requests = rows.requests(database.directory / "requests.txt", callers)
        gateway = stack.enter_context(
            Gateway(chosen.binary, database.url("sluice", rows.ROLE), database.directory / "gateway.log"))
        before, during, after = (
            Series(Wrk(name, [gateway], CONNECTIONS, chosen.threads, requests, database=database))
            for name in ("before an import", "during an import", "after an import"))
        report.add([before, during, after])

        before.load.run(chosen.seconds)
        before.samples += [before.load.run(chosen.seconds) for _ in range(chosen.rounds)]
        report.figure("peak memory before", gateway.memory("VmHWM"), "MB")
        during.samples, seconds = under_load(during.load, chosen.seconds, lambda: bring_new(gateway, file, count))
        report.measured("import", alone, note=f"{count:,} grants; {seconds:.1f} s under the load of {CONNECTIONS}"
                        f" connections.", is_smaller=count < ASKED)
        report.figure(f"import of {count:,} new grants, under load", seconds, "s")
        after.samples += [after.load.run(chosen.seconds) for _ in range(chosen.rounds)]
        for one in (before, during, after):
            report.figure(f"slowest answer, {one.load.name}", max(sample.slowest for sample in one.samples), "ms")
        report.figure("peak memory after the import", gateway.memory("VmHWM"), "MB")

        exported = database.directory / "exported.ndjson"
        exported.touch()
        report.figure("export, NDJSON", call(gateway, "GET", "/admin/v1/grants:export", to=exported)[1], "s")
        report.figure("exported", exported.stat().st_size / 1e6, "MB")
        report.figure("export, CSV", call(gateway, "GET", "/admin/v1/grants:export?format=csv",
                                          to=database.directory / "exported.csv")[1], "s")
        answer, seconds = bring(gateway, exported, "?prune=true")
        if answer["unchanged"] != count + len(callers):
            raise RuntimeError(f"imported again, {answer['updated']:,} grants changed")
        report.figure("import of what is there", seconds, "s")

        times, token = [], None
        while True:
            page, seconds = call(gateway, "GET", f"/admin/v1/grants?pageSize={PAGE}"
                                 + (f"&pageToken={token}" if token else ""))
            times.append(1000 * seconds)
            token = page.get("nextPageToken")
            if not token:
                break
        report.figure(f"a page of {PAGE:,}, first ten", statistics.median(times[:10]), "ms")
        report.figure(f"a page of {PAGE:,}, last ten of {len(times):,}", statistics.median(times[-11:-1]), "ms")

        batch = {"writes": [{**grant(number), "principal": f"user:applied-{number}"} for number in range(APPLIED)]}
        applied, seconds = call(gateway, "POST", "/admin/v1/grants:apply", json.dumps(batch).encode())
        report.figure(f"batch of {APPLIED:,} new grants", seconds, "s")
        gone = {"deletes": [{"id": write["id"]} for write in applied["writes"]]}
        report.figure(f"batch of {APPLIED:,} deletions",
                      call(gateway, "POST", "/admin/v1/grants:apply", json.dumps(gone).encode())[1], "s")
        report.figure("peak memory in the end", gateway.memory("VmHWM"), "MB")
