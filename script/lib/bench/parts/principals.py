"""Memory of a gateway that so many principals have used, each with an API key and a grant of its own."""

import contextlib
import math

import rows
from database import Database
from gateway import Gateway
from load import Issue
from report import versions

CONNECTIONS = 64
LONGEST = 60
ASKED = 100_000


def measure(chosen, report):
    with contextlib.ExitStack() as stack:
        database = stack.enter_context(Database())
        report.versions = versions(database)
        callers = rows.users(chosen.principals)
        rows.prepare(database, "sluice", chosen.binary, callers)
        requests = rows.requests(database.directory / "requests.txt", callers)
        gateway = stack.enter_context(
            Gateway(chosen.binary, database.url("sluice", rows.ROLE), database.directory / "gateway.log"))
        report.figure("start to ready", gateway.seconds_to_ready, "s")
        report.figure("resident memory after start", gateway.memory(), "MB")
        load = Issue(f"POST /v1/presigned-urls, {chosen.principals:,} callers", [gateway], CONNECTIONS, chosen.threads,
                     requests, database, "sluice")
        seconds = 2
        while True:
            sample = load.run(seconds)
            seen = database.number("sluice", "SELECT count(DISTINCT principal) FROM issuances")
            if seen == chosen.principals:
                break
            if seconds >= LONGEST:
                raise RuntimeError(f"only {seen:,} of {chosen.principals:,} principals were served in {seconds} s")
            seconds = min(LONGEST, max(seconds + 1, math.ceil(1.3 * chosen.principals / sample.rate)))
        report.figure("rate of the last run", sample.rate, "requests/s")
        report.figure("resident memory at its highest", gateway.memory("VmHWM"), "MB")
        report.measured("memory", gateway.memory(), note=f"{seen:,} principals were served.",
                        is_smaller=seen < ASKED)
