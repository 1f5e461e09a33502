"""One, two and three gateways on one database; and what three of them promise together."""

import contextlib

import rows
from database import Database
from disturbances import PolicyChanges, SharedQuota, links_on_old_policy, wrong_counters
from gateway import Gateway
from load import During, Issue
from report import alternate, versions

CONNECTIONS = 192
CHANGES = 100


def measure(chosen, report):
    with contextlib.ExitStack() as stack:
        database = stack.enter_context(Database())
        report.versions = versions(database)
        callers = rows.users(chosen.users)
        rows.prepare(database, "sluice", chosen.binary, callers)
        requests = rows.requests(database.directory / "requests.txt", callers)
        gateways = [
            stack.enter_context(Gateway(chosen.binary, database.url("sluice", rows.ROLE),
                                        database.directory / f"gateway{number}.log"))
            for number in (1, 2, 3)]
        load = lambda name, count, kind=Issue, **others: kind(
            name, gateways[:count], CONNECTIONS, chosen.threads, requests, database, "sluice", **others)
        one, two, three = series = alternate(
            [load(f"{name} on one database", count)
             for count, name in ((1, "one gateway"), (2, "two gateways"), (3, "three gateways"))], database, chosen)
        report.add(series)
        report.ratio("two", two, one)
        report.ratio("three", three, one)

        changes = PolicyChanges(gateways[0], callers, CHANGES)
        load("three gateways, changes of policy", 3, During, disturbance=changes).run(chosen.seconds)
        report.measured("shared-stale", links_on_old_policy(database, "sluice"),
                        note=f"{len(changes.made):,} changes at one of the gateways.")

        # Few enough that they run out long before the run ends.
        limit = max(1_000, int(three.median() * chosen.seconds / 4))
        quota = SharedQuota(gateways[0], database, "sluice", limit)
        sample = load("three gateways, a quota that runs out", 3, During, disturbance=quota).run(chosen.seconds)
        report.measured("shared-quota", max(0, quota.issued - limit),
                        note=f"{quota.issued:,} links were issued of {limit:,}, {sample.refused:,} requests refused.")
        if quota.issued < limit:
            raise RuntimeError(f"only {quota.issued:,} of {limit:,} links were issued, so that the quota was not tried")
        wrong = wrong_counters(database, "sluice")
        report.figure("counters that differ from the ledger", wrong)
    if wrong:
        raise RuntimeError(f"{wrong} counters differ from the ledger")
