"""The service that a team would write instead, in Benchmarks/peer."""

import os
import shlex
import subprocess
from pathlib import Path

from server import Server

SOURCES = Path(__file__).resolve().parents[3] / "Benchmarks/peer"
WORKERS = 4


class Peer(Server):
    """FastAPI in four uvicorn workers, without the log of requests."""

    ready_path = "/healthz"

    def __init__(self, python, database_url, log):
        super().__init__(log)
        self.python = python
        self.database_url = database_url

    def command(self):
        return [str(self.python), "-m", "uvicorn", "app:app", "--app-dir", str(SOURCES), "--workers", str(WORKERS),
                "--loop", "uvloop", "--http", "httptools", "--no-access-log", "--log-level", "warning",
                "--host", "127.0.0.1", "--port", str(self.port)]

    def environment(self):
        return {**os.environ, "DATABASE_URL": self.database_url, "PYTHONDONTWRITEBYTECODE": "1"}

    def told(self):
        return f"DATABASE_URL={shlex.quote(self.database_url)} {super().told()}"

    def versions(self):
        listed = subprocess.run([str(self.python), "-m", "pip", "list", "--format=freeze"], capture_output=True, text=True)
        wanted = {line.split("==")[0] for line in (SOURCES / "requirements.txt").read_text().splitlines()}
        return ", ".join(line.replace("==", " ") for line in listed.stdout.splitlines() if line.split("==")[0] in wanted)
