"""Rounds of faults under load, and the table of what they did."""

import asyncio
import statistics
import sys
import time
from collections import Counter
from dataclasses import dataclass, field

import judge
from load import Load, Revoker, REVOKED, World
from witness import Witness

BEFORE_SECONDS, AFTER_SECONDS, WHOLE_SECONDS = 3, 3, 90
MOST_UNAVAILABLE, MOST_OWN = 10, 1
# So much of the load counts against the quota that is meant to run out; it lasts for so many seconds.
LIMITED_SHARE, LIMITED_SECONDS = 3, 7


@dataclass
class Tally:
    """One line of the table."""

    rounds: int = 0
    links: int = 0
    lost: int = 0
    stale: int = 0
    over: int = 0
    unavailable: list = field(default_factory=list)
    own: list = field(default_factory=list)
    whole: list = field(default_factory=list)


class Campaign:
    def __init__(self, cluster, gateways, rate):
        self.cluster = cluster
        self.gateways = gateways
        self.rate = rate
        self.world = World(gateways)
        self.load = Load(gateways, self.world, rate)
        self.revokers = [Revoker(self.world, number) for number in range(REVOKED)]
        self.witness = Witness(cluster)
        self.lines = {}
        # Sentences for the end: what was wrong and is not in the table.
        self.remarks = []
        self.unused_quotas = 0

    async def run(self, faults):
        """Each fault is one round; a fault may come several times."""
        async with self.going_on():
            for number, fault in enumerate(faults):
                await self.round(number, fault)
        await self.finish()

    def going_on(self):
        return _Going(self)

    async def round(self, number, fault):
        bucket, limit = f"limited-{number}", int(self.rate / LIMITED_SHARE * LIMITED_SECONDS)
        await self.world.make_limited(bucket, limit)
        self.load.limited = bucket
        first, writes = len(self.load.answers), len(self.witness.writes)
        begin = time.monotonic()
        await asyncio.sleep(BEFORE_SECONDS)
        await asyncio.to_thread(fault.act, self.cluster, self.gateways)
        done = time.monotonic()
        await asyncio.to_thread(self.cluster.wait_until_whole, WHOLE_SECONDS)
        whole = time.monotonic() - done
        await asyncio.sleep(AFTER_SECONDS)
        end = time.monotonic()
        answers = self.load.answers[first:]
        worst, own, where = judge.unavailability(answers, self.witness.writes[writes:], self.gateways.all, begin, end)
        line = self.lines.setdefault(fault.name, Tally())
        line.rounds += 1
        line.links += sum(1 for answer in answers if answer.id)
        line.lost += await asyncio.to_thread(judge.lost_links, self.cluster, answers)
        line.stale += judge.stale_links(answers, self.revokers)
        line.over += await asyncio.to_thread(judge.over_quota, self.cluster, answers, {bucket: limit})
        line.unavailable.append(worst)
        line.own.append(own)
        line.whole.append(whole)
        if not await asyncio.to_thread(judge.exhausted, self.cluster, bucket, limit):
            self.unused_quotas += 1
        statuses = Counter(answer.status for answer in answers)
        told = ", ".join(f"{status}: {count}" for status, count in sorted(statuses.items()))
        print(f"{number + 1}. {fault.name}: unavailable {worst:.1f} s, own part {own:.1f} s"
              + (f" (gateway {where[0]}, {where[1]:.1f} s after the beginning)" if where else "")
              + f", whole after {whole:.1f} s; answers {told}", file=sys.stderr, flush=True)

    async def finish(self):
        """Looks at everything once more: a later failover could have lost what an earlier round had."""
        answers = self.load.answers
        check = lambda function, *values: asyncio.to_thread(function, *values)
        for count, what in (
            (await check(judge.lost_links, self.cluster, answers), "links have no row at the end"),
            (judge.stale_links(answers, self.revokers), "links were issued after a revoke was answered"),
            (await check(judge.lost_changes, self.cluster, self.revokers), "acknowledged changes of grants are lost"),
            (await check(judge.over_quota, self.cluster, answers, self.world.limits), "links are beyond a quota, or not counted"),
            (await check(self.witness.lost), "rows that PostgreSQL acknowledged are lost"),
            (sum(len(one.process.ends) for one in self.gateways.all), "gateways ended by themselves"),
            (self.load.unsent, "requests were not sent, since too many waited"),
        ):
            if count:
                self.remarks.append(f"{count} {what}.")
        await asyncio.to_thread(self.gateways.audit_quotas)

    @property
    def changes(self):
        return sum(len(revoker.without) for revoker in self.revokers)

    @property
    def is_kept(self):
        lines = self.lines.values()
        return not self.remarks and all(
            line.lost == line.stale == line.over == 0 and max(line.unavailable) <= MOST_UNAVAILABLE
            and max(line.own) <= MOST_OWN for line in lines)

    def table(self):
        head = ("fault", "rounds", "links", "lost", "stale", "over", "unavailable: median", "longest", "own part: median",
                "longest")
        rows = [head, ("---",) + ("---:",) * (len(head) - 1)]
        for name, line in self.lines.items():
            rows.append((name, line.rounds, f"{line.links:,}", line.lost, line.stale, line.over,
                         *(f"{pick(times):.1f} s" for times in (line.unavailable, line.own)
                           for pick in (statistics.median, max))))
        text = "\n".join("| " + " | ".join(map(str, row)) + " |" for row in rows)
        links = sum(1 for answer in self.load.answers if answer.id)
        text += (f"\n\n{links:,} links in all, {self.changes:,} revokes, {len(self.witness.writes):,} rows written beside them;"
                 f" {len(self.world.limits)} quotas, of which {self.unused_quotas} were not used up.")
        return "\n".join([text, *self.remarks])


class _Going:
    """Load, revokers and witness, while a block runs; what ended one of them is a remark."""

    def __init__(self, campaign):
        self.campaign = campaign

    async def __aenter__(self):
        campaign = self.campaign
        await campaign.world.make()
        await asyncio.to_thread(campaign.witness.start)
        self.tasks = [asyncio.create_task(one.run()) for one in (campaign.load, *campaign.revokers)]

    async def __aexit__(self, *_):
        ended = [task for task in self.tasks if task.done()]
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        self.campaign.remarks += [f"What goes on beside the faults ended: {task.exception()}." for task in ended]
