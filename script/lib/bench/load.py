"""What is measured: a server under wrk, and single-row inserts by pgbench."""

import contextlib
import json
import resource
import shlex
import subprocess
from pathlib import Path

SCRIPT = Path(__file__).with_name("requests.lua")
# Milliseconds by which the clock in an identifier may be behind the ledger's.
CLOCK_MARGIN = 5_000
INSERTS_TABLE = "bench_inserts"
INSERTS = f"""
    CREATE TABLE {INSERTS_TABLE} (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        at timestamptz NOT NULL DEFAULT clock_timestamp(),
        principal text NOT NULL,
        object_key text NOT NULL
    )
"""
INSERT = f"INSERT INTO {INSERTS_TABLE} (principal, object_key) VALUES ('u0000001', 'users/u0000001/photo.jpg');\n"


class Sample:
    """One measurement: a rate, latencies in milliseconds, and answers that were not what they should be."""

    def __init__(self, answers, seconds, p50, p99, slowest=None, faults=0, refused=0, times=None, each=1):
        self.answers = answers
        # Answers that were neither 2xx nor 3xx; they are among the faults.
        self.refused = refused
        self.rate = answers * each / seconds
        self.p50 = p50
        self.p99 = p99
        self.slowest = slowest
        self.faults = faults
        # Processor time per unit of the rate in microseconds, by who spent it.
        self.times = {who: used / max(1, answers * each) * 1e6 for who, used in (times or {}).items()}


class Load:
    """A kind of load; `run` answers a sample, `commands` what anybody may type to repeat it."""

    unit = "requests/s"
    servers = ()

    def __init__(self, name, connections, threads):
        self.name = name
        self.connections = connections
        self.threads = min(threads, connections)


class Ledger:
    """Compares the ledger with what a load was answered and with what the gateways count."""

    def __init__(self, database, database_name, gateways):
        self.database = database
        self.database_name = database_name
        self.gateways = gateways
        self.start = self.counted = None
        # Requests and items of batches that the gateways refused between a mark and its comparison.
        self.refused = 0

    def mark(self):
        # In this order: what an earlier load left under way is over before the time is taken.
        self.counted = self._counted()
        self.start = self.database.query(self.database_name, "SELECT clock_timestamp()")

    def compare(self, least, most):
        """Fails unless as many rows are new as there can be, and as the gateways say."""
        # What the load hung up on is still recorded.
        issued, self.refused = (now - before for now, before in zip(self._counted(), self.counted))
        rows = self._rows()
        if not least <= rows <= most:
            raise RuntimeError(f"the ledger has {rows} new rows, after answers there must be {least} to {most};"
                               f" the gateways count {issued}, and {self.refused} refusals")
        if rows != issued:
            raise RuntimeError(f"the ledger has {rows} new rows, the gateways count {issued}")

    def _counted(self):
        return [sum(counts) for counts in zip(*(gateway.counted() for gateway in self.gateways))]

    def _rows(self):
        """The number of new rows, found by the index on identifiers, which begin with roughly the time of issue."""
        return self.database.number(self.database_name, f"""
            SELECT count(*) FROM issuances WHERE issued_at >= '{self.start}' AND id >= (
                lpad(to_hex((extract(epoch FROM timestamptz '{self.start}') * 1000)::bigint - {CLOCK_MARGIN}), 12, '0')
                    || repeat('0', 20))::uuid
        """)


class Wrk(Load):
    """The same prepared requests, over and over, to one or more servers at once, which share the connections."""

    # Links in one answer.
    each = 1

    def __init__(self, name, servers, connections, threads, requests, path="/v1/presigned-urls", database=None,
                 cores=None):
        super().__init__(name, connections, threads)
        self.servers = servers
        self.requests = requests
        self.path = path
        self.database = database
        self.prefix = pinned(cores)

    def commands(self, seconds):
        count = len(self.servers)
        threads = max(1, self.threads // count)
        return [[*self.prefix, "wrk", "--latency", f"--threads={threads}", f"--connections={self.connections // count}",
                 f"--duration={seconds}s", "--timeout=20s", f"--script={SCRIPT}", server.base, "--", self.path,
                 str(self.requests), str(threads)] for server in self.servers]

    def run(self, seconds):
        with _Stopwatch(self.servers, self.database) as watch:
            running = [subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True) for command in self.commands(seconds)]
            summaries = [_summary(one) for one in running]
        for server in self.servers:
            server.drop_log()
        total = lambda kind: sum(summary[kind] for summary in summaries)
        worst = lambda kind: max(summary[kind] for summary in summaries) / 1e3
        return Sample(total("answers"), worst("microseconds") / 1e3, worst("p50"), worst("p99"), worst("slowest"),
                      sum(total(kind) for kind in ("connect", "read", "write", "status", "timeout")), total("status"),
                      watch.times, self.each)


class Issue(Wrk):
    """Links for distinct users, every answer compared with the ledger."""

    def __init__(self, name, gateways, connections, threads, requests, database, database_name, **others):
        super().__init__(name, gateways, connections, threads, requests, database=database, **others)
        self.ledger = Ledger(database, database_name, gateways)

    def run(self, seconds):
        self.ledger.mark()
        sample = self.send(seconds)
        # wrk hangs up on what is under way at its end: recorded, though nobody reads the answer.
        good = (sample.answers - sample.refused) * self.each
        try:
            self.ledger.compare(good, good + self.connections * self.each)
        except RuntimeError as error:
            raise RuntimeError(f"{self.name}: {error}") from error
        return sample

    def send(self, seconds):
        """Sends the requests; nothing is under way before and after."""
        return super().run(seconds)


class Links(Issue):
    """Requests for so many links each, in any of the ways to issue, none of them refused; rates are links a second.

    `before` is called before each run.
    """

    unit = "links/s"

    def __init__(self, *arguments, each=1, before=None, **others):
        super().__init__(*arguments, **others)
        self.each = each
        self.before = before

    def run(self, seconds):
        if self.before:
            self.before()
        sample = super().run(seconds)
        # A batch has its refusals inside, and an OSS SDK gets them with status 200.
        if self.ledger.refused:
            raise RuntimeError(f"{self.name}: {self.ledger.refused} requests or items were refused")
        return sample


class During(Issue):
    """The load while something else goes on; `disturbance` is entered before and left after."""

    def __init__(self, *arguments, disturbance, **others):
        super().__init__(*arguments, **others)
        self.disturbance = disturbance

    def send(self, seconds):
        with self.disturbance.during(seconds) if self.disturbance else contextlib.nullcontext():
            return super().send(seconds)


class Offer(Load):
    """Requests at a fixed rate, whether or not answers come; the rate measured is that of good answers in time."""

    unit = "good answers/s"
    # Seconds in which queues fill before anything is counted, and that answers are waited for in the end: more than the
    # gateway's own deadline.
    SETTLE = 1
    GRACE = 20

    def __init__(self, name, gateway, connections, threads, requests, database, database_name, program, cores=None):
        super().__init__(name, connections, threads)
        self.gateway = gateway
        self.servers = [gateway]
        self.database = database
        self.requests = requests
        self.program = program
        self.prefix = pinned(cores)
        self.ledger = Ledger(database, database_name, [gateway])
        self.rate = None
        # What the program told, a dictionary a run.
        self.told = []

    def commands(self, seconds):
        return [[*self.prefix, str(self.program), str(self.gateway.port), str(self.requests), f"{self.rate:.0f}",
                 str(self.SETTLE), str(seconds), str(self.connections), str(self.threads), str(self.GRACE)]]

    def run(self, seconds):
        self.ledger.mark()
        with _Stopwatch([self.gateway], self.database) as watch:
            done = subprocess.run(self.commands(seconds)[0], stdin=subprocess.DEVNULL, text=True, capture_output=True)
        if done.returncode != 0:
            raise RuntimeError(f"offer: {done.stderr}")
        told = json.loads(done.stdout)
        self.gateway.drop_log()
        self.told.append(told)
        told["serverSeconds"] = watch.times["server"]
        good, lost = told["good"], told["unanswered"] + told["broken"]
        self.ledger.compare(good["count"], good["count"] + lost)
        return Sample(told["inTime"], seconds, good["p50"], good["p99"], good["slowest"], told["other"] + lost,
                      times={who: used * told["inTime"] / max(1, good["count"]) for who, used in watch.times.items()})


class Inserts(Load):
    """Rows inserted one by one into a plain table, each its own commit."""

    unit = "rows/s"
    NAME = "pgbench, one insert each"

    def __init__(self, database, connections, threads):
        super().__init__(self.NAME, connections, threads)
        self.database = database
        self.file = database.directory / "insert.sql"
        self.logs = database.directory / "pgbench"
        if not self.file.exists():
            self.file.write_text(INSERT)
            self.logs.mkdir()
            database.query("postgres", INSERTS)

    def commands(self, seconds):
        return [[str(self.database.bin / "pgbench"), "--no-vacuum", "--protocol=prepared",
                 f"--client={self.connections}", f"--jobs={self.threads}", f"--time={seconds}", "--log",
                 f"--log-prefix={self.logs}/log", f"--file={self.file}", self.database.url("postgres")]]

    def run(self, seconds):
        with _Stopwatch([], self.database) as watch:
            done = subprocess.run(self.commands(seconds)[0], stdin=subprocess.DEVNULL, text=True, capture_output=True)
        if done.returncode != 0:
            raise RuntimeError(f"pgbench: {done.stderr}")
        tps = next((float(line.split()[2]) for line in done.stdout.splitlines() if line.startswith("tps =")), None)
        latencies = []
        for log in self.logs.iterdir():
            latencies += [int(line.split(" ", 3)[2]) for line in log.read_text().splitlines()]
            log.unlink()
        if not tps or not latencies:
            raise RuntimeError(f"pgbench has no rate: {done.stdout}{done.stderr}")
        latencies.sort()
        at = lambda share: latencies[min(len(latencies) - 1, int(len(latencies) * share))] / 1e3
        return Sample(len(latencies), len(latencies) / tps, at(0.5), at(0.99), at(1), times=watch.times)


class _Stopwatch:
    """Processor time of the servers, of PostgreSQL and of the program that makes the load, while it is entered."""

    def __init__(self, servers, database):
        self.servers = servers
        self.database = database
        self.times = {}

    def _now(self):
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        now = {"load": usage.ru_utime + usage.ru_stime}
        if self.servers:
            now["server"] = sum(server.processor_seconds() for server in self.servers)
        if self.database:
            now["PostgreSQL"] = self.database.processor_seconds()
        return now

    def __enter__(self):
        self.before = self._now()
        return self

    def __exit__(self, *_):
        self.times = {who: used - self.before[who] for who, used in self._now().items()}


def _summary(process):
    output, errors = process.communicate()
    line = next((line for line in output.splitlines() if line.startswith("SUMMARY ")), None)
    if process.returncode != 0 or line is None:
        raise RuntimeError(f"wrk: {errors or output}")
    return json.loads(line.removeprefix("SUMMARY "))


def pinned(cores):
    return ["taskset", "--cpu-list", cores] if cores else []


def shown(commands):
    return " & ".join(shlex.join(command) for command in commands)
