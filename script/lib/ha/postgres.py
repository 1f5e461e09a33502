"""One PostgreSQL by itself, on loopback, whose commands are those of the documentation."""

import os
import re
import subprocess
from pathlib import Path

import psycopg2

from cluster import own

ROOT = Path(__file__).resolve().parents[3]
FILES_OF_BACKUP = ROOT / "ops/backup"
BIN = "/usr/lib/postgresql/15/bin"


def documented(heading, number):
    """A block of commands of docs/backup.md: the one with this number, from 0, below a heading."""
    text = (ROOT / "docs/backup.md").read_text()
    section = re.search(rf"^#+ {heading}\n(.*?)(?=^#+ |\Z)", text, re.MULTILINE | re.DOTALL)
    if section is None:
        raise RuntimeError(f"docs/backup.md has no section '{heading}'")
    return re.findall(r"^```sh\n(.*?)^```", section.group(1), re.MULTILINE | re.DOTALL)[number]


class Postgres:
    def __init__(self, directory, name):
        self.directory = directory / name
        self.directory.mkdir()
        own(self.directory)
        self.data = self.directory / "data"
        self.environment = {
            **os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", "PGHOST": str(self.directory), "PGUSER": "postgres",
            "PGDATABASE": "postgres", "PGDATA": str(self.data), "HOME": str(self.directory)}

    def initialize(self, configuration=""):
        self.shell("initdb --auth=trust --locale=C.UTF-8 --encoding=UTF8 --data-checksums --no-instructions")
        with open(self.data / "postgresql.conf", "a") as file:
            file.write(f"\nlisten_addresses = '127.0.0.1'\nunix_socket_directories = '{self.directory}'\n{configuration}\n")

    def start(self):
        self.shell(f"pg_ctl --silent --wait --log={self.directory}/server.log start")

    def stop(self, mode="fast"):
        self.shell(f"pg_ctl --silent --wait --mode={mode} stop")

    def shell(self, script, **variables):
        """Runs a script as the user postgres."""
        # pg_ctl hands its output to the server, so a pipe would never end.
        with open(self.directory / "commands.log", "ab") as log:
            done = subprocess.run(
                ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", "--", "bash", "-euc", script],
                env={**self.environment, **variables}, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        if done.returncode != 0:
            raise RuntimeError(f"{script}\n{(self.directory / 'commands.log').read_text()[-2000:]}")

    def query(self, sql, *values, database="sluice"):
        session = psycopg2.connect(host=str(self.directory), user="postgres", dbname=database)
        try:
            session.autocommit = True
            with session.cursor() as cursor:
                cursor.execute(sql, values)
                return cursor.fetchall() if cursor.description else []
        finally:
            session.close()
