"""The same load with few and with many grants: rate, memory and time to start."""

import contextlib
import statistics

import rows
from database import Database
from gateway import Gateway
from load import Issue
from report import alternate, versions

CONNECTIONS = 64
ASKED = 1_000_000


def measure(chosen, report):
    with contextlib.ExitStack() as stack:
        database = stack.enter_context(Database())
        report.versions = versions(database)
        callers = rows.users(chosen.users)
        requests = rows.requests(database.directory / "requests.txt", callers)
        loads, starts = [], []
        for count in chosen.grants:
            name = f"grants_{count}"
            rows.prepare(database, name, chosen.binary, callers, count)
            new = lambda: Gateway(chosen.binary, database.url(name, rows.ROLE), database.directory / f"{name}.log")
            starts = []
            for _ in range(chosen.rounds):
                with new() as gateway:
                    starts.append(gateway.seconds_to_ready)
            report.figure(f"start to ready, {count:,} grants", statistics.median(starts), "s")
            gateway = stack.enter_context(new())
            report.figure(f"resident memory after start, {count:,} grants", gateway.memory(), "MB")
            loads.append(Issue(f"{count:,} grants", [gateway], CONNECTIONS, chosen.threads, requests, database, name))
        series = alternate(loads, database, chosen)
        report.add(series)
        for count, one in zip(chosen.grants, series):
            report.figure(f"resident memory after load, {count:,} grants", one.load.servers[0].memory(), "MB")
        is_smaller = chosen.grants[-1] < ASKED
        report.ratio("grants", series[-1], series[0], is_smaller=is_smaller,
                     note=f"{chosen.grants[-1]:,} against {chosen.grants[0]:,} grants.")
        report.measured("start", statistics.median(starts), starts, is_smaller=is_smaller)
