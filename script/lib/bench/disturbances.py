"""What goes on beside a load: changes of policy, a quota that everybody shares, a partition that is dropped."""

import contextlib
import secrets
import threading
import time

import rows
from gateway import Admin

CHANGING = 4


class PolicyChanges:
    """Replaces grants of callers, so many changes a second: each caller always has one, and never the same for long."""

    def __init__(self, gateway, callers, rate):
        self.gateway = gateway
        self.callers = callers
        self.rate = rate
        self.made = []
        self.seconds = 0
        self.grants = {}

    @contextlib.contextmanager
    def during(self, _seconds):
        stop = threading.Event()
        failures = []
        threads = [threading.Thread(target=self._change, args=(part, stop, failures)) for part in range(CHANGING)]
        began, before = time.monotonic(), len(self.made)
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            stop.set()
            for thread in threads:
                thread.join()
            self.seconds += time.monotonic() - began
        if failures:
            raise failures[0]
        if len(self.made) == before:
            raise RuntimeError("no policy was changed")

    @property
    def achieved(self):
        return len(self.made) / self.seconds

    def _change(self, part, stop, failures):
        mine = self.callers[part::CHANGING]
        interval = CHANGING / self.rate
        due = time.monotonic() + interval * part / CHANGING
        number = 0
        try:
            with Admin(self.gateway) as admin:
                while not stop.wait(max(0, due - time.monotonic())):
                    began = time.monotonic()
                    # A grant beside the first, and the next time away with it.
                    caller = mine[(number // 2) % len(mine)]
                    if caller.name in self.grants:
                        admin.delete(f"/admin/v1/grants/{self.grants.pop(caller.name)}")
                    else:
                        self.grants[caller.name] = admin.create("/admin/v1/grants", {
                            "principal": caller.principal, "bucket": rows.BUCKET, "prefix": caller.object_key,
                            "actions": ["PutObject"]})["id"]
                    number += 1
                    self.made.append(time.monotonic() - began)
                    due += interval
        except Exception as error:
            failures.append(error)


class DeepBatches:
    """Asks, so many times at once, for 1,000 keys of 64 segments that nobody asked for before.

    Unless told otherwise, each asker repeats its request as often as the rate limit of a principal allows. No request
    is granted, so that only the load beside it fills the ledger.
    """

    ITEMS, SLASHES = 1_000, 64
    PAUSE = ITEMS / 500

    def __init__(self, gateway, caller, at_once):
        self.gateway = gateway
        self.caller = caller
        self.at_once = at_once
        self.answered = 0

    @contextlib.contextmanager
    def during(self, _seconds):
        stop = threading.Event()
        failures = []
        threads = [threading.Thread(target=self._ask, args=(stop, failures)) for _ in range(self.at_once)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        if failures:
            raise failures[0]

    def _ask(self, stop, failures):
        try:
            with Admin(self.gateway, self.caller.key) as connection:
                while not stop.is_set():
                    next_time = time.monotonic() + self.PAUSE
                    rest = "/s" * self.SLASHES
                    items = [{"action": "GetObject", "bucket": rows.BUCKET, "key": secrets.token_hex(8) + rest}
                             for _ in range(self.ITEMS)]
                    status, body = connection.call("POST", "/v1/presigned-urls/batch", {"items": items})
                    if status != 200:
                        raise RuntimeError(f"a batch of deep keys: {status} {body.decode(errors='replace')}")
                    self.answered += 1
                    stop.wait(max(0, next_time - time.monotonic()))
        except Exception as error:
            failures.append(error)


def links_on_old_policy(database, database_name):
    """Rows that were recorded after a change of their principal's policy was committed, and decided before it.

    Both instants are the database's and taken under the lock that changes hold alone: what is later is later.
    """
    return database.number(database_name, f"""
        WITH changes AS MATERIALIZED (
            SELECT l.seq, l.at, s.scope FROM policy_log l CROSS JOIN LATERAL unnest(l.scopes) AS s (scope)
        )
        SELECT (
            SELECT count(*) FROM changes c
            JOIN issuances i ON i.principal = c.scope AND i.policy_seq < c.seq AND i.issued_at > c.at
        ) + (
            SELECT count(*) FROM changes c
            JOIN issuances i ON i.policy_seq < c.seq AND i.issued_at > c.at
            WHERE c.scope IN ('all', '*', 'bucket:{rows.BUCKET}')
        )
    """)


class SharedQuota:
    """One counter for everybody; compared with the ledger after each load."""

    def __init__(self, gateway, database, database_name, limit=rows.URLS_PER_DAY):
        self.gateway = gateway
        self.database = database
        self.database_name = database_name
        self.limit = limit
        # What was issued under it the last time.
        self.issued = None

    @contextlib.contextmanager
    def during(self, _seconds):
        with Admin(self.gateway) as admin:
            quota = admin.create("/admin/v1/quotas", {
                "principal": "*", "bucket": rows.BUCKET, "metric": "urls", "period": "total", "sharing": "shared",
                "limit": self.limit})["id"]
            try:
                yield
                count = lambda sql: self.database.number(self.database_name, f"SELECT count(*) FROM {sql}")
                self.issued = count(f"issuances WHERE '{quota}' = ANY (quota_ids)")
                if not count(f"quota_usage WHERE quota_id = '{quota}' AND used = {self.issued}"):
                    raise RuntimeError(f"the counter of a shared quota is not the {self.issued:,} of the ledger")
            finally:
                admin.delete(f"/admin/v1/quotas/{quota}")


def wrong_counters(database, database_name):
    """Counters that differ from what the ledger says."""
    return database.number(database_name, "SELECT count(*) FROM audit_quotas()")


class DroppedPartition:
    """Empties and drops the oldest expired partition of the ledger in the middle of a load, as the upkeep does."""

    ATTEMPTS = 200

    def __init__(self, database, database_name, keep_days):
        self.database = database
        self.database_name = database_name
        self.keep_days = keep_days
        self.seconds = {"empty": [], "drop": []}

    @contextlib.contextmanager
    def during(self, seconds):
        failures = []
        thread = threading.Thread(target=self._drop, args=(seconds / 3, failures))
        thread.start()
        try:
            yield
        finally:
            thread.join()
        if failures:
            raise failures[0]

    def _drop(self, pause, failures):
        try:
            time.sleep(pause)
            day = self._query(f"SELECT min(day) FROM expired_issuances_days({self.keep_days}, now()) AS day")
            if not day:
                raise RuntimeError("no partition is past retention")
            began = time.monotonic()
            self._query(f"SELECT empty_issuances_partition('{day}', {self.keep_days}, now())")
            emptied = time.monotonic()
            for _ in range(self.ATTEMPTS):
                if self._query(f"SELECT drop_issuances_partition('{day}', {self.keep_days}, now())") == "t":
                    break
            else:
                raise RuntimeError(f"the partition of {day} could not be dropped in {self.ATTEMPTS} attempts")
            self.seconds["empty"].append(emptied - began)
            self.seconds["drop"].append(time.monotonic() - emptied)
        except Exception as error:
            failures.append(error)

    def _query(self, sql):
        return self.database.query(self.database_name, sql)
