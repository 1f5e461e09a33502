"""Memory of a gateway that issues links for an hour at a fixed rate, each minute over new connections."""

import contextlib
import statistics
import time

import rows
from database import Database
from gateway import Gateway
from load import Offer
from report import Series, versions

CONNECTIONS = 64
MINUTE = 60
ASKED_MINUTES = 60
# Of the samples: caches fill until then.
WARM_UP = 0.1


def measure(chosen, report):
    if not chosen.offer:
        raise RuntimeError("--offer is missing")
    with contextlib.ExitStack() as stack:
        database = stack.enter_context(Database())
        report.versions = versions(database)
        callers = rows.users(chosen.users)
        rows.prepare(database, "sluice", chosen.binary, callers)
        requests = rows.requests(database.directory / "requests.txt", callers)
        gateway = stack.enter_context(
            Gateway(chosen.binary, database.url("sluice", rows.ROLE), database.directory / "gateway.log"))
        load = Offer("soak", gateway, CONNECTIONS, chosen.threads, requests, database, "sluice", chosen.offer)
        load.rate = chosen.soak_rate
        soak = Series(load)
        memory, began = [], time.monotonic()
        while not memory or time.monotonic() - began < MINUTE * chosen.soak_minutes:
            soak.samples.append(load.run(min(MINUTE, MINUTE * chosen.soak_minutes)))
            memory.append(gateway.memory())
        minutes = (time.monotonic() - began) / MINUTE
        report.add([soak])
        warm = memory[int(WARM_UP * len(memory)):]
        median = statistics.median(warm)
        refused = sum(one["refused"]["count"] for one in load.told)
        if refused:
            raise RuntimeError(f"{refused:,} requests were refused")
        links = sum(one["good"]["count"] for one in load.told)
        report.figure("resident memory, first minute", memory[0], "MB")
        report.figure("resident memory, last minute", memory[-1], "MB")
        report.figure("resident memory at its highest", gateway.memory("VmHWM"), "MB")
        report.measured("flat", 100 * max(abs(one - median) for one in warm) / median,
                        note=f"{links:,} links in {minutes:.0f} minutes; {min(warm):.1f} to {max(warm):.1f} MB.",
                        is_smaller=chosen.soak_minutes < ASKED_MINUTES)
