"""One `sluice serve`, and what admins ask of it."""

import base64
import http.client
import json
import os
import secrets
import shlex
import subprocess
import time
import urllib.request

from server import Server

MASTER_KEY = base64.b64encode(secrets.token_bytes(32)).decode()
# As packaging/sluice.service and the image set it.
ALLOCATOR = {"GLIBC_TUNABLES": "glibc.malloc.tcache_count=128"}
# Above the gateway's deadline for answers.
SETTLE_SECONDS = 20
ADMIN_KEY = secrets.token_hex(32)


def migrate(binary, database_url):
    environment = {**os.environ, "SLUICE_DATABASE_URL": database_url}
    done = subprocess.run([binary, "migrate"], env=environment, stdin=subprocess.DEVNULL, text=True,
                          capture_output=True)
    if done.returncode != 0:
        raise RuntimeError(f"sluice migrate: {done.stderr.strip()}")


class Gateway(Server):
    """Runs the program with its defaults, but for the settings given."""

    ready_path = "/readyz"

    def __init__(self, binary, database_url, log, cores=None, **settings):
        super().__init__(log, cores)
        self.binary = binary
        # Loads come from few principals: counted, and never refused.
        settings = {"REQUESTS_PER_SECOND": 1_000_000, **settings}
        self.chosen = {f"SLUICE_{name}": str(value) for name, value in settings.items()}
        self.settings = {
            "SLUICE_DATABASE_URL": database_url,
            "SLUICE_MASTER_KEY": MASTER_KEY,
            "SLUICE_BOOTSTRAP_ADMIN_KEY": ADMIN_KEY,
            "SLUICE_LISTEN": f"127.0.0.1:{self.port}",
            **self.chosen,
        }

    def command(self):
        return [str(self.binary), "serve"]

    def environment(self):
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("SLUICE_")}
        return {**inherited, **ALLOCATOR, **self.settings}

    def told(self):
        open_settings = {name: self.settings[name] for name in ("SLUICE_DATABASE_URL", "SLUICE_LISTEN")} | self.chosen
        return " ".join([*(f"{name}={shlex.quote(value)}" for name, value in open_settings.items()), super().told()])

    def create(self, path, row):
        """Makes a row as an admin and answers what the gateway says of it."""
        with Admin(self) as admin:
            return admin.create(path, row)

    def post(self, path, row, token):
        """What a caller gets: status and body."""
        with Admin(self, token) as caller:
            return caller.call("POST", path, row)

    def counted(self):
        """How many credentials this process says it has issued, and how many requests and items it has refused, once it
        answers nobody any more."""
        deadline = time.monotonic() + SETTLE_SECONDS
        while time.monotonic() < deadline:
            with urllib.request.urlopen(self.base + "/metrics", timeout=30) as answer:
                lines = answer.read().decode().splitlines()
            total = lambda name: sum(int(float(line.rsplit(" ", 1)[1])) for line in lines if line.startswith(name))
            # This question is under way itself.
            if total("sluice_http_requests_in_flight") <= 1:
                return total("sluice_issued_total"), total("sluice_refused_total")
            time.sleep(0.02)
        raise RuntimeError(f"requests are under way {SETTLE_SECONDS} s after the load")


class Admin:
    """One connection of an admin, kept open."""

    def __init__(self, gateway, token=ADMIN_KEY):
        self.token = token
        self.connection = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=30)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.connection.close()

    def call(self, method, path, row=None):
        """Answers status and body."""
        headers = {"Authorization": f"Bearer {self.token}"}
        body = None
        if row is not None:
            headers["Content-Type"] = "application/json"
            body = json.dumps(row)
        self.connection.request(method, path, body, headers)
        answer = self.connection.getresponse()
        return answer.status, answer.read()

    def create(self, path, row):
        status, body = self.call("POST", path, row)
        if status != 201:
            raise RuntimeError(f"POST {path}: {status} {body.decode(errors='replace')}")
        return json.loads(body)

    def delete(self, path):
        status, body = self.call("DELETE", path)
        if status != 204:
            raise RuntimeError(f"DELETE {path}: {status} {body.decode(errors='replace')}")
