"""The tail of others while a caller with many grants asks for batches of the deepest keys, which no cache knows."""

import contextlib

import rows
from database import Database
from disturbances import DeepBatches
from gateway import Gateway
from load import During
from report import alternate, versions

CONNECTIONS = 64
AT_ONCE = 4
# More than a gateway holds of one principal.
GRANTS = 300


def measure(chosen, report):
    with contextlib.ExitStack() as stack:
        database = stack.enter_context(Database())
        report.versions = versions(database)
        *callers, hog = rows.users(chosen.users + 1)
        rows.prepare(database, "sluice", chosen.binary, [*callers, hog])
        rows.crowd(database, "sluice", hog, GRANTS)
        requests = rows.requests(database.directory / "requests.txt", callers)
        gateway = stack.enter_context(
            Gateway(chosen.binary, database.url("sluice", rows.ROLE), database.directory / "gateway.log"))
        batches = DeepBatches(gateway, hog, AT_ONCE)
        load = lambda name, disturbance: During(
            name, [gateway], CONNECTIONS, chosen.threads, requests, database, "sluice", disturbance=disturbance)
        undisturbed, beside = series = alternate(
            [load("undisturbed", None), load(f"beside {AT_ONCE} batches of deep keys", batches)], database, chosen)
        report.add(series)
        report.figure("batches of deep keys answered", batches.answered)
        report.ratio("deep", beside, undisturbed, "p99")
