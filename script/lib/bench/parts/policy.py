"""The rate while policy changes, and while everybody draws on one quota."""

import contextlib
import statistics

import rows
from database import Database
from disturbances import PolicyChanges, SharedQuota, links_on_old_policy, wrong_counters
from gateway import Gateway
from load import During
from report import alternate, versions

CONNECTIONS = 64
CHANGES = 100


def measure(chosen, report):
    with contextlib.ExitStack() as stack:
        database = stack.enter_context(Database())
        report.versions = versions(database)
        callers = rows.users(chosen.users)
        rows.prepare(database, "sluice", chosen.binary, callers)
        requests = rows.requests(database.directory / "requests.txt", callers)
        gateway = stack.enter_context(
            Gateway(chosen.binary, database.url("sluice", rows.ROLE), database.directory / "gateway.log"))
        changes = PolicyChanges(gateway, callers, CHANGES)
        load = lambda name, disturbance: During(
            name, [gateway], CONNECTIONS, chosen.threads, requests, database, "sluice", disturbance=disturbance)
        undisturbed, changed, hot = series = alternate([
            load("undisturbed", None), load(f"{CHANGES} changes of policy a second", changes),
            load("one quota shared by everybody", SharedQuota(gateway, database, "sluice"))], database, chosen)
        report.add(series)
        report.figure("changes of policy", changes.achieved, "a second")
        report.figure("a change takes, median", 1000 * statistics.median(changes.made), "ms")
        report.figure("a change takes, slowest", 1000 * max(changes.made), "ms")
        report.ratio("changes", changed, undisturbed, note=f"{changes.achieved:.0f} changes a second were made.",
                     is_smaller=changes.achieved < 0.95 * CHANGES)
        report.ratio("hot", hot, undisturbed)
        stale = links_on_old_policy(database, "sluice")
        report.measured("stale", stale, note=f"{database.number('sluice', 'SELECT count(*) FROM issuances'):,} links,"
                                             f" {len(changes.made):,} changes.")
        wrong = wrong_counters(database, "sluice")
        report.figure("counters that differ from the ledger", wrong)
    if wrong:
        raise RuntimeError(f"{wrong} counters differ from the ledger")
