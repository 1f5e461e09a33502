"""Measures the gateway; see script/bench."""

import argparse
import contextlib
import os
import signal
import statistics
import sys
from pathlib import Path

import rows
import signing
from database import Database
from gateway import Gateway
from load import Inserts, Issue, Static
from report import Report, Series, facts

ROOT = Path(__file__).resolve().parents[3]
PARTS = ("issue", "grants", "signing")


def options():
    parser = argparse.ArgumentParser(
        prog="script/bench",
        description="Measures POST /v1/presigned-urls beside single-row inserts of pgbench and a static answer of the same "
                    "server, with few and with many grants, and what one signature costs in each scheme; prints one table and writes bench.json. Ends with status 1 when "
                    "an answer was not 2xx or the ledger does not agree with the answers.")
    numbers = lambda text: [int(number) for number in text.split(",")]
    parser.add_argument("--parts", type=lambda text: text.split(","), default=",".join(PARTS), help="what to measure (%(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds in alternation (%(default)s)")
    parser.add_argument("--seconds", type=int, default=3, help="length of each measurement (%(default)s)")
    parser.add_argument("--connections", type=numbers, default="1,16,64,256", help="connections of wrk (%(default)s)")
    parser.add_argument("--users", type=int, default=1_000, help="distinct callers (%(default)s)")
    parser.add_argument("--grants", type=numbers, default="1000,1000000", help="few and many grants (%(default)s)")
    parser.add_argument("--threads", type=int, default=max(1, (os.cpu_count() or 2) // 2),
                        help="threads of wrk and of pgbench (half the cores)")
    parser.add_argument("--binary", type=Path, help="a built sluice; built for release when left out")
    parser.add_argument("--against", type=Path, help="another sluice, measured in alternation with the first")
    parser.add_argument("--output", type=Path, default=ROOT / "bench.json", help="where the figures go (bench.json)")
    chosen = parser.parse_args()
    unknown = set(chosen.parts) - set(PARTS)
    if unknown or min(chosen.rounds, chosen.seconds, chosen.users, *chosen.connections, *chosen.grants) < 1:
        parser.error(f"unknown parts: {', '.join(unknown)}" if unknown else "numbers must be positive")
    if min(chosen.grants) < chosen.users:
        parser.error("there must be at least as many grants as users")
    return chosen


def alternate(loads, database, chosen):
    """Runs every load once a round, in another order each time; answers a series each."""
    series = [Series(load) for load in loads]
    for load in loads:
        load.run(1)
    for number in range(chosen.rounds):
        order = series if number % 2 == 0 else series[::-1]
        for one in order:
            database.settle()
            one.samples.append(one.load.run(chosen.seconds))
        print(f"round {number + 1} of {chosen.rounds}: "
              + ", ".join(f"{one.load.connections}: {one.samples[-1].rate:,.0f}/s" for one in series),
              file=sys.stderr, flush=True)
    return series


def measure_issue(database, chosen, report):
    """Issuing at several numbers of connections, between single inserts and a static answer."""
    requests = rows.prepare(database, "sluice", chosen.binary, chosen.users, chosen.users, database.directory)
    with contextlib.ExitStack() as stack:
        start = lambda binary, name: stack.enter_context(
            Gateway(binary, database.url("sluice", rows.ROLE), database.directory / f"{name}.log"))
        gateway = start(chosen.binary, "gateway")
        other = start(chosen.against, "other") if chosen.against else None
        report.figure("resident memory after start", gateway.memory(), "MB")
        loads = []
        for connections in chosen.connections:
            loads.append(Issue(gateway, connections, chosen.threads, database, "sluice", requests))
            if other:
                loads.append(Issue(other, connections, chosen.threads, database, "sluice", requests,
                                   f"{Issue.name} of --against"))
            loads.append(Static(gateway, connections, chosen.threads))
        loads += [Inserts(database, connections, chosen.threads) for connections in (1, 64)]
        report.add(alternate(loads, database, chosen))
        report.figure("resident memory after load", gateway.memory(), "MB")
        report.figure("resident memory at its highest", gateway.memory("VmHWM"), "MB")
    one, insert = report.find(Issue.name, 1), report.find(Inserts.name, 1)
    if one:
        report.figure("p50 at 1 connection ÷ p50 of one insert", one.median("p50") / insert.median("p50"), "")


def measure_grants(database, chosen, report):
    """The same load with few and with many grants: rate, memory and time to start."""
    connections = 64
    with contextlib.ExitStack() as stack:
        loads = []
        for count in chosen.grants:
            name = f"grants_{count}"
            print(f"making {count:,} grants", file=sys.stderr, flush=True)
            requests = rows.prepare(database, name, chosen.binary, chosen.users, count, database.directory)
            new = lambda: Gateway(chosen.binary, database.url(name, rows.ROLE), database.directory / f"{name}.log")
            starts = []
            for _ in range(chosen.rounds):
                with new() as gateway:
                    starts.append(gateway.seconds_to_ready)
            report.figure(f"start to ready, {count:,} grants", statistics.median(starts), "s")
            gateway = stack.enter_context(new())
            report.figure(f"resident memory after start, {count:,} grants", gateway.memory(), "MB")
            loads.append(Issue(gateway, connections, chosen.threads, database, name, requests,
                               f"{Issue.name}, {count:,} grants"))
        series = alternate(loads, database, chosen)
        report.add(series)
        for count, one in zip(chosen.grants, series):
            report.figure(f"resident memory after load, {count:,} grants", one.load.gateway.memory(), "MB")
        report.figure(f"rate with {chosen.grants[-1]:,} ÷ with {chosen.grants[0]:,} grants",
                      series[-1].median() / series[0].median(), "")


def measure_signing(chosen, report):
    """Each scheme beside the hash work of the same bytes alone; needs no gateway and no database."""
    binary = chosen.binary.with_name("SigningBenchmark")
    if not binary.exists():
        sys.exit(f"error: {binary} is missing; swift build -c release --product SigningBenchmark makes it")
    signing.measure(binary, ROOT / "script/lib/count_malloc.c", chosen.rounds, report)


def main():
    chosen = options()
    if chosen.binary is None:
        sys.exit("error: --binary is missing")
    # So that an interrupted run cleans up as well.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with contextlib.ExitStack() as stack:
        database = stack.enter_context(Database()) if set(chosen.parts) - {"signing"} else None
        report = Report(chosen, facts(database, ROOT))
        if "signing" in chosen.parts:
            measure_signing(chosen, report)
        if "issue" in chosen.parts:
            measure_issue(database, chosen, report)
        if "grants" in chosen.parts:
            measure_grants(database, chosen, report)
        report.print()
        report.write(chosen.output)
    if report.faults:
        sys.exit(f"error: {report.faults} requests failed or were not answered with 2xx")


try:
    main()
except (RuntimeError, KeyboardInterrupt) as error:
    sys.exit(f"error: {error or 'interrupted'}")
