"""What goes on at the gateways: links at a steady rate, and grants that come and go."""

import asyncio
import time
from dataclasses import dataclass

BUCKET = "links"
USERS = 6
REVOKED = 3
MOST_AT_ONCE = 600
ENDPOINT = {"provider": "s3", "endpoint": "https://store.example", "region": "eu-west-1", "addressing": "path"}


@dataclass(slots=True)
class Answer:
    """What became of one request. Instants are of the monotonic clock."""

    gateway: int
    user: str
    bucket: str
    sent: float
    at: float
    status: int
    id: str | None


class World:
    """The rows that the load needs, made through the gateways."""

    def __init__(self, gateways):
        self.gateways = gateways
        self.keys = {}
        self.credential = None
        # Buckets with a quota that is meant to run out: name to limit.
        self.limits = {}

    async def make(self):
        self.credential = (await self.create("/admin/v1/storage-credentials", {
            "name": "main", "accessKeyID": "AKIDEXAMPLE", "secretAccessKey": "made-up-secret"}))["id"]
        await self.make_bucket(BUCKET)
        for number in range(USERS):
            await self.make_user(f"steady-{number}", has_grant=True)
        for number in range(REVOKED):
            await self.make_user(f"revoked-{number}", has_grant=False)
        # Never reached: its counter has to equal the rows.
        await self.create("/admin/v1/quotas", {
            "principal": "*", "bucket": BUCKET, "action": "GetObject", "metric": "urls", "period": "total",
            "sharing": "shared", "limit": 10**12})

    async def make_bucket(self, name):
        await self.create("/admin/v1/buckets", {"name": name, **ENDPOINT, "credentialID": self.credential})

    async def make_user(self, name, has_grant):
        principal = f"user:{name}"
        self.keys[name] = (await self.create("/admin/v1/api-keys", {"name": name, "principal": principal}))["key"]
        if has_grant:
            await self.grant(principal, BUCKET)

    async def make_limited(self, name, limit):
        """A bucket whose links count against one quota for everybody."""
        await self.make_bucket(name)
        await self.create("/admin/v1/quotas", {
            "principal": "*", "bucket": name, "action": "GetObject", "metric": "urls", "period": "total",
            "sharing": "shared", "limit": limit})
        await self.grant("*", name)
        self.limits[name] = limit

    async def grant(self, principal, bucket, first=0):
        status, answer, _ = await self.gateways.admin("POST", "/admin/v1/grants?ifExists=return", {
            "principal": principal, "bucket": bucket, "prefix": "", "actions": ["GetObject"]}, first)
        if status not in (200, 201):
            raise RuntimeError(f"a grant for {principal}: {status} {answer}")
        return answer["id"]

    async def create(self, path, row):
        status, answer, was_repeated = await self.gateways.admin("POST", path, row)
        if status != 201 and not (status == 409 and was_repeated):
            raise RuntimeError(f"POST {path}: {status} {answer}")
        return answer


class Load:
    """Asks each gateway for links at a fixed rate, whether or not answers come."""

    def __init__(self, gateways, world, rate):
        self.gateways = gateways
        self.world = world
        self.interval = len(gateways.all) / rate
        self.answers = []
        self.limited = None
        # Requests that were not sent since too many waited for their answers.
        self.unsent = 0

    async def run(self):
        async with asyncio.TaskGroup() as group:
            for gateway in self.gateways.all:
                group.create_task(self._ask(gateway))

    async def _ask(self, gateway):
        pending = set()
        due = time.monotonic() + self.interval * gateway.number / len(self.gateways.all)
        number = 0
        while True:
            await asyncio.sleep(max(0, due - time.monotonic()))
            due = max(due + self.interval, time.monotonic() - 1)
            if len(pending) >= MOST_AT_ONCE:
                self.unsent += 1
                continue
            user, bucket = self._next(number)
            number += 1
            task = asyncio.create_task(self._one(gateway, user, bucket, number))
            pending.add(task)
            task.add_done_callback(pending.discard)

    def _next(self, number):
        """By a user whose grant comes and goes, for a bucket whose quota runs out, or neither, in turn."""
        kind, turn = number % 3, number // 3
        if kind == 0:
            return f"revoked-{turn % REVOKED}", BUCKET
        if kind == 1 and self.limited:
            return f"steady-{turn % USERS}", self.limited
        return f"steady-{turn % USERS}", BUCKET

    async def _one(self, gateway, user, bucket, number):
        sent = time.monotonic()
        status, answer = await gateway.client.call("POST", "/v1/presigned-urls", self.world.keys[user], {
            "action": "GetObject", "bucket": bucket, "key": f"photos/{number}.jpg"})
        issued = answer["id"] if status == 201 else None
        self.answers.append(Answer(gateway.number, user, bucket, sent, time.monotonic(), status, issued))


class Revoker:
    """Grants and revokes without end, through changing gateways, and keeps when a user had no grant for sure."""

    PAUSE = 0.15

    def __init__(self, world, number):
        self.world = world
        self.number = number
        self.user = f"revoked-{number}"
        # From the answer to a revoke until the next grant is asked for.
        self.without = []
        # Grants by identifier; whether their removal was answered.
        self.grants = {}

    async def run(self):
        turn = self.number
        while True:
            if self.without:
                self.without[-1][1] = time.monotonic()
            grant = await self.world.grant(f"user:{self.user}", BUCKET, turn)
            self.grants[grant] = False
            await asyncio.sleep(self.PAUSE)
            status, answer, _ = await self.world.gateways.admin(
                "DELETE", f"/admin/v1/grants/{grant}", first=turn + 1)
            # A revoke that was answered with 503 may be in force already, and so may one that a gateway tried twice.
            if status not in (204, 404):
                raise RuntimeError(f"a grant that was acknowledged cannot be removed: {status} {answer}")
            self.grants[grant] = True
            self.without.append([time.monotonic(), float("inf")])
            await asyncio.sleep(self.PAUSE)
            turn += 1
