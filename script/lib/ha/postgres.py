"""PostgreSQL by itself, on loopback, whose commands are those of the documentation."""

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
    """A server whose configuration is in its data directory, as with Patroni."""

    def __init__(self, directory, name):
        self.directory = directory / name
        self.directory.mkdir()
        own(self.directory)
        self.data = self.directory / "data"
        self.sockets = self.directory
        self.environment = {
            **os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", "PGHOST": str(self.sockets), "PGUSER": "postgres",
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
        self._run(["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", "--"], script, variables)

    def _run(self, prefix, script, variables):
        # pg_ctl hands its output to the server, so a pipe would never end.
        with open(self.directory / "commands.log", "ab") as log:
            done = subprocess.run(
                [*prefix, "bash", "-euc", script], env={**self.environment, **variables}, cwd=ROOT,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        if done.returncode != 0:
            raise RuntimeError(f"{script}\n{(self.directory / 'commands.log').read_text()[-2000:]}")

    def query(self, sql, *values, database="sluice"):
        session = psycopg2.connect(host=str(self.sockets), user="postgres", dbname=database)
        try:
            session.autocommit = True
            with session.cursor() as cursor:
                cursor.execute(sql, values)
                return cursor.fetchall() if cursor.description else []
        finally:
            session.close()


class DebianCluster(Postgres):
    """Debian's cluster `15 main`, in the documented places: its configuration is not in its data directory."""

    PLACES = [Path(place) for place in ("/etc/postgresql", "/var/lib/postgresql", "/var/log/postgresql", "/run/postgresql")]

    def __init__(self, directory, name):
        super().__init__(directory, name)
        self.data = Path("/var/lib/postgresql/15/main")
        self.sockets = Path("/run/postgresql")
        # The usual PATH does not lead to PostgreSQL's programs. systemd would act on the machine's own cluster.
        self.environment |= {
            "PATH": os.environ["PATH"], "PGHOST": str(self.sockets), "_SYSTEMCTL_SKIP_REDIRECT": "1"}
        del self.environment["PGDATA"]

    def initialize(self, configuration=""):
        # Seen by this program alone.
        for place in self.PLACES:
            place.mkdir(exist_ok=True)
            subprocess.run(["mount", "-t", "tmpfs", "none", place], check=True)
            own(place)
        self.root_shell("pg_createcluster --locale=C.UTF-8 --encoding=UTF8 15 main -- --auth=trust --data-checksums")
        Path("/etc/postgresql/15/main/conf.d/sluice.conf").write_text(configuration)

    def start(self):
        self.root_shell("pg_ctlcluster 15 main start")

    def stop(self, mode="fast"):
        self.root_shell(f"pg_ctlcluster --mode={mode} 15 main stop")

    def root_shell(self, script):
        """Runs a script as root."""
        self._run([], script, {})
