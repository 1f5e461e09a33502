"""One `sluice serve`, and requests to it."""

import base64
import json
import os
import re
import secrets
import socket
import subprocess
import time
import urllib.error
import urllib.request

MASTER_KEY = base64.b64encode(secrets.token_bytes(32)).decode()
ADMIN_KEY = secrets.token_hex(32)
START_SECONDS = 120


def migrate(binary, database_url):
    environment = {**os.environ, "SLUICE_DATABASE_URL": database_url}
    done = subprocess.run([binary, "migrate"], env=environment, stdin=subprocess.DEVNULL, text=True,
                          capture_output=True)
    if done.returncode != 0:
        raise RuntimeError(f"sluice migrate: {done.stderr.strip()}")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Gateway:
    """Runs the program with its defaults; ready on entry, gone on exit."""

    def __init__(self, binary, database_url, log):
        self.binary = binary
        self.log = log
        self.settings = {
            "SLUICE_DATABASE_URL": database_url,
            "SLUICE_MASTER_KEY": MASTER_KEY,
            "SLUICE_BOOTSTRAP_ADMIN_KEY": ADMIN_KEY,
            "SLUICE_LISTEN": f"127.0.0.1:{free_port()}",
        }
        self.base = f"http://{self.settings['SLUICE_LISTEN']}"
        self.process = None
        self.seconds_to_ready = None

    def __enter__(self):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("SLUICE_")}
        began = time.monotonic()
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen([self.binary, "serve"], env={**environment, **self.settings},
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            self._wait_until_ready(began)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _wait_until_ready(self, began):
        while time.monotonic() - began < START_SECONDS:
            if self.process.poll() is not None:
                raise RuntimeError(f"sluice serve ended with status {self.process.returncode}:\n{self._tail()}")
            if self.status("/readyz") == 200:
                self.seconds_to_ready = time.monotonic() - began
                return
            time.sleep(0.005)
        raise RuntimeError(f"sluice serve is not ready after {START_SECONDS} s:\n{self._tail()}")

    def _tail(self):
        with open(self.log, "rb") as log:
            return log.read()[-3000:].decode(errors="replace")

    def status(self, path):
        """The status of an answer, `None` where nothing listens."""
        try:
            with urllib.request.urlopen(self.base + path, timeout=5) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return None

    def create(self, path, row):
        """Makes a row as an admin and answers what the gateway says of it."""
        request = urllib.request.Request(
            self.base + path, data=json.dumps(row).encode(), method="POST",
            headers={"Authorization": f"Bearer {ADMIN_KEY}", "Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"POST {path}: {error.code} {error.read().decode(errors='replace')}") from error

    def issued(self):
        """How many credentials this process says it has issued."""
        with urllib.request.urlopen(self.base + "/metrics", timeout=5) as answer:
            lines = answer.read().decode().splitlines()
        return sum(int(float(line.rsplit(" ", 1)[1])) for line in lines if line.startswith("sluice_issued_total"))

    def memory(self, field="VmRSS"):
        """Resident memory now, or with `VmHWM` at its highest, in MB."""
        with open(f"/proc/{self.process.pid}/status") as status:
            return int(re.search(rf"{field}:\s+(\d+) kB", status.read()).group(1)) / 1024

    def processor_seconds(self):
        with open(f"/proc/{self.process.pid}/stat") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def drop_log(self):
        """Empties the log, which would otherwise fill the disk of a long run."""
        os.truncate(self.log, 0)
