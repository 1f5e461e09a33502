"""Four times the gateway's capacity, offered at a fixed rate. The gateway and PostgreSQL run on one half of the cores,
and the load on the other, so that the load takes no time from the gateway."""

import contextlib
import os
import statistics

import rows
from database import Database
from gateway import Gateway
from load import Issue, Offer
from report import alternate, versions
from server import allow_open_files

FACTOR = 4
PEAK_CONNECTIONS = 256
# Above the requests that the gateway answers at once, so that some are always beyond.
CONNECTIONS = 8_192
# Files beside the connections.
SPARE = 1_000
SETTINGS = {"HTTP_MAX_CONNECTIONS": 10_000, "HTTP_MAX_CONNECTIONS_PER_ADDRESS": 10_000}
ANSWER_DEADLINE_SECONDS = 15


def measure(chosen, report):
    if not chosen.offer:
        raise RuntimeError("--offer is missing")
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        raise RuntimeError("one core cannot be shared out")
    allow_open_files(CONNECTIONS + SPARE)
    half = len(cores) // 2
    servers, loads = (",".join(map(str, part)) for part in (cores[:half], cores[half:]))
    with contextlib.ExitStack() as stack:
        database = stack.enter_context(Database(cores=servers))
        report.versions = versions(database)
        callers = rows.users(chosen.users)
        rows.prepare(database, "sluice", chosen.binary, callers)
        requests = rows.requests(database.directory / "requests.txt", callers)
        gateway = stack.enter_context(Gateway(
            chosen.binary, database.url("sluice", rows.ROLE), database.directory / "gateway.log", cores=servers, **SETTINGS))
        peak = Issue(f"as many as {PEAK_CONNECTIONS} connections get answered", [gateway], PEAK_CONNECTIONS, chosen.threads,
                     requests, database, "sluice", cores=loads)
        offer = Offer(f"{FACTOR} × that offered", gateway, CONNECTIONS, max(1, len(cores) - half), requests, database,
                      "sluice", chosen.offer, cores=loads)
        peak.run(1)
        offer.rate = FACTOR * max(peak.run(chosen.seconds).rate for _ in range(2))
        capacity, overload = series = alternate([peak, offer], database, chosen)
        report.add(series)
        told = offer.told[1:]
        report.ratio("goodput", overload, capacity, note=_note(told, servers, loads, offer.rate))
        report.figure("resident memory at its highest", gateway.memory("VmHWM"), "MB")
        rest = sum(one["refused"]["count"] + one["other"] + one["broken"] + one["unanswered"] for one in told)
        refused = sum(one["refused"]["count"] for one in told)
        slowest = max(one["refused"]["slowest"] for one in told)
        in_time = refused if slowest <= 1000 * ANSWER_DEADLINE_SECONDS else 0
        report.measured("refusals", in_time / rest if rest else 1,
                        note=f"{refused:,} of {rest:,}; p99 {max(one['refused']['p99'] for one in told):.0f} ms,"
                             f" slowest {slowest:.0f} ms, deadline {ANSWER_DEADLINE_SECONDS} s.")
        if refused:
            report.figure("processor time of the gateway for a refusal, about", _time_of_refusal(capacity, told, refused), "µs")
        report.figure("good answers under overload, p99", statistics.median(one["good"]["p99"] for one in told), "ms")


def _time_of_refusal(capacity, told, refused):
    """Microseconds of the gateway's time per refusal, if a good answer costs as much as without overload."""
    good = statistics.median(sample.times["server"] for sample in capacity.samples)
    spent = sum(1e6 * one["serverSeconds"] - good * one["good"]["count"] for one in told)
    return max(0, spent / refused)


def _note(told, servers, loads, rate):
    due, unsent = (sum(one[what] for one in told) for what in ("due", "unsent"))
    return (f"servers on cores {servers}, load on {loads}; {rate:,.0f} a second due, {100 * unsent / max(1, due):.0f} % of them"
            f" not sent, since all {CONNECTIONS:,} connections waited for answers.")
