"""Three `sluice serve` on one cluster."""

import asyncio
import base64
import os
import secrets
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

from client import CLOSED, SILENT, Client
from cluster import read_environment
from supervisor import Supervised

FIRST_PORT = 8080
READY_SECONDS = 40
RESTART_SECONDS = 2


class Gateway:
    def __init__(self, number, program, directory, settings):
        self.number = number
        self.port = FIRST_PORT + number
        self.client = Client(self.port)
        self.log = directory / f"gateway{number}.log"
        self.process = Supervised(
            f"gateway {number}", [str(program), "serve"],
            {**os.environ, **settings, "SLUICE_LISTEN": f"127.0.0.1:{self.port}"}, self.log, RESTART_SECONDS)
        # When it was out of service because it was restarted on purpose.
        self.away = []

    def start(self):
        self.process.start()
        deadline = time.monotonic() + READY_SECONDS
        while self.readiness() != 200:
            if time.monotonic() > deadline:
                raise RuntimeError(f"gateway {self.number} is not ready after {READY_SECONDS} s: {self.tail()}")
            time.sleep(0.02)

    def restart(self):
        began = time.monotonic()
        self.process.stop()
        self.client.close()
        self.start()
        self.away.append((began, time.monotonic()))

    def readiness(self):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/readyz", timeout=2) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return None

    def tail(self):
        return self.log.read_bytes()[-2000:].decode(errors="replace")

    def resources(self):
        """Resident memory in MB and open descriptors."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        resident = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS:"))
        return resident / 1024, len(os.listdir(f"/proc/{self.process.pid}/fd"))


class Gateways:
    def __init__(self, cluster, program, directory, count=3):
        self.admin_key = secrets.token_hex(32)
        self.cluster = cluster
        self.program = program
        password = directory / "gateway.password"
        password.write_text(cluster.passwords["sluice"])
        password.chmod(0o600)
        self.settings = {
            **read_environment("gateway.env"),
            "SLUICE_DATABASE_PASSWORD_FILE": str(password),
            "SLUICE_MASTER_KEY": base64.b64encode(secrets.token_bytes(32)).decode(),
            "SLUICE_BOOTSTRAP_ADMIN_KEY": self.admin_key,
            # Few principals make the load.
            "SLUICE_REQUESTS_PER_SECOND": "0",
        }
        self.all = [Gateway(number, program, directory, self.settings) for number in range(1, count + 1)]

    def start(self):
        self.migrate()
        for one in self.all:
            one.start()

    def migrate(self):
        url = self.settings["SLUICE_DATABASE_URL"].replace("//sluice@", "//sluice_owner@")
        self._run("migrate", {"SLUICE_DATABASE_URL": url, "PGPASSWORD": self.cluster.passwords["sluice_owner"]})

    def audit_quotas(self):
        """What `sluice audit-quotas` says; it fails where a counter differs from the ledger."""
        return self._run("audit-quotas", self.settings)

    def _run(self, command, settings):
        done = subprocess.run([str(self.program), command], env={**os.environ, **settings}, text=True,
                              capture_output=True, timeout=120)
        if done.returncode != 0:
            raise RuntimeError(f"sluice {command}: {done.stdout}{done.stderr}")
        return done.stdout

    async def admin(self, method, path, body=None, first=0):
        """Asks one gateway after the other until one answers with something else than 503."""
        number = first
        while True:
            status, answer = await self.all[number % len(self.all)].client.call(method, path, self.admin_key, body)
            if status not in (CLOSED, SILENT, 503):
                return status, answer, number > first
            number += 1
            await asyncio.sleep(0.1)
