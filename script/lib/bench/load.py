"""What is measured: the gateway and its static answer under wrk, and single-row inserts by pgbench."""

import json
import shlex
import subprocess
import time
from pathlib import Path

SCRIPT = Path(__file__).with_name("requests.lua")
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

    def __init__(self, answers, seconds, p50, p99, faults=0, refused=0, processor_seconds=None):
        self.answers = answers
        # Answers that were not 2xx; they are among the faults.
        self.refused = refused
        self.rate = answers / seconds
        self.p50 = p50
        self.p99 = p99
        self.faults = faults
        # Of the gateway, per answer, in microseconds.
        self.processor_time = processor_seconds and processor_seconds / max(1, answers) * 1e6


class Static:
    """A constant answer of the same server: what HTTP alone costs."""

    name = "static answer"

    def __init__(self, gateway, connections, threads):
        self.gateway = gateway
        self.connections = connections
        self.threads = min(threads, connections)

    def command(self, seconds):
        return [*self._wrk(seconds), f"{self.gateway.base}/healthz", "--", "get", "/healthz"]

    def _wrk(self, seconds):
        return ["wrk", "--latency", f"--threads={self.threads}", f"--connections={self.connections}",
                f"--duration={seconds}s", "--timeout=10s", f"--script={SCRIPT}"]

    def run(self, seconds):
        before = self.gateway.processor_seconds()
        done = subprocess.run(self.command(seconds), stdin=subprocess.DEVNULL, text=True, capture_output=True)
        line = next((line for line in done.stdout.splitlines() if line.startswith("SUMMARY ")), None)
        if done.returncode != 0 or line is None:
            raise RuntimeError(f"wrk: {done.stderr or done.stdout}")
        summary = json.loads(line.removeprefix("SUMMARY "))
        faults = sum(summary[kind] for kind in ("connect", "read", "write", "status", "timeout"))
        return Sample(summary["answers"], summary["microseconds"] / 1e6, summary["p50"] / 1e3, summary["p99"] / 1e3,
                      faults, summary["status"], self.gateway.processor_seconds() - before)


class Issue(Static):
    """Upload links with content type and MD5 for distinct users, every answer compared with the ledger."""

    name = "POST /v1/presigned-urls"

    def __init__(self, gateway, connections, threads, database, database_name, requests, name=None):
        super().__init__(gateway, connections, threads)
        self.database = database
        self.database_name = database_name
        self.requests = requests
        self.name = name or self.name

    def command(self, seconds):
        return [*self._wrk(seconds), self.gateway.base, "--", "issue", str(self.requests), str(self.threads)]

    def run(self, seconds):
        rows, issued = self._rows(), self.gateway.issued()
        sample = super().run(seconds)
        rows, issued = self._settled(rows, issued)
        # wrk hangs up on what is under way at its end: recorded, though nobody reads the answer.
        good = sample.answers - sample.refused
        if not good <= rows <= good + self.connections:
            raise RuntimeError(f"{good} good answers over {self.connections} connections, but {rows} rows")
        if rows != issued:
            raise RuntimeError(f"the ledger has {rows} new rows, the gateway counts {issued}")
        self.gateway.drop_log()
        return sample

    def _settled(self, rows, issued):
        """New rows and issuances, once those that wrk hung up on have ended."""
        for _ in range(100):
            now = self._rows() - rows, self.gateway.issued() - issued
            if now[0] == now[1]:
                break
            time.sleep(0.05)
        return now

    def _rows(self):
        return self.database.number(self.database_name, "SELECT count(*) FROM issuances")


class Inserts:
    """Rows inserted one by one into a plain table, each its own commit."""

    name = "pgbench, one insert each"

    def __init__(self, database, connections, threads):
        self.database = database
        self.connections = connections
        self.threads = min(threads, connections)
        self.file = database.directory / "insert.sql"
        self.logs = database.directory / "pgbench"
        if not self.file.exists():
            self.file.write_text(INSERT)
            self.logs.mkdir()
            database.query("postgres", INSERTS)

    def command(self, seconds):
        return [str(self.database.bin / "pgbench"), "--no-vacuum", "--protocol=prepared",
                f"--client={self.connections}", f"--jobs={self.threads}", f"--time={seconds}", "--log",
                f"--log-prefix={self.logs}/log", f"--file={self.file}", self.database.url("postgres")]

    def run(self, seconds):
        done = subprocess.run(self.command(seconds), stdin=subprocess.DEVNULL, text=True, capture_output=True)
        if done.returncode != 0:
            raise RuntimeError(f"pgbench: {done.stderr}")
        tps = next((float(line.split()[2]) for line in done.stdout.splitlines() if line.startswith("tps =")), None)
        if not tps:
            raise RuntimeError(f"pgbench has no rate: {done.stdout}{done.stderr}")
        latencies = []
        for log in self.logs.iterdir():
            latencies += [int(line.split(" ", 3)[2]) for line in log.read_text().splitlines()]
            log.unlink()
        latencies.sort()
        return Sample(len(latencies), len(latencies) / tps, latencies[len(latencies) // 2] / 1e3,
                      latencies[len(latencies) * 99 // 100] / 1e3)


def shown(command):
    return shlex.join(command)
