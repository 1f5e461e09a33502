"""Memory of a gateway that so many principals have used, each with an API key and a grant of its own."""

import contextlib
import math

import rows
from database import Database
from gateway import Gateway
from load import Issue
from report import versions

CONNECTIONS = 64
FIRST_SECONDS = 2
ASKED = 100_000


def measure(chosen, report):
    with contextlib.ExitStack() as stack:
        database = stack.enter_context(Database())
        report.versions = versions(database)
        callers = rows.users(chosen.principals)
        rows.prepare(database, "sluice", chosen.binary, callers)
        gateway = stack.enter_context(
            Gateway(chosen.binary, database.url("sluice", rows.ROLE), database.directory / "gateway.log"))
        report.figure("start to ready", gateway.seconds_to_ready, "s")
        report.figure("resident memory after start", gateway.memory(), "MB")
        seen, seconds = set(), FIRST_SECONDS
        while len(seen) < len(callers):
            # Those that were not served yet, and some others, so that each connection has something to send.
            waiting = [one for one in callers if one.principal not in seen]
            requests = rows.requests(database.directory / "requests.txt", waiting + callers[:CONNECTIONS])
            sample = Issue(f"{len(waiting):,} callers", [gateway], CONNECTIONS, chosen.threads, requests, database,
                           "sluice").run(seconds)
            before = len(seen)
            seen = set(database.query("sluice", "SELECT DISTINCT principal FROM issuances").split())
            if len(seen) == before:
                raise RuntimeError(f"{len(waiting):,} callers are not served")
            seconds = math.ceil(1.2 * (len(callers) - len(seen)) / sample.rate)
        report.figure("rate of the last run", sample.rate, "requests/s")
        report.figure("resident memory at its highest", gateway.memory("VmHWM"), "MB")
        report.measured("memory", gateway.memory(), note=f"{len(seen):,} principals were served.",
                        is_smaller=len(seen) < ASKED)
