"""A PostgreSQL cluster for one run, on a Unix socket, as durable as in production."""

import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path

from server import processor_seconds

SETTINGS = {
    "listen_addresses": "''",
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    "shared_buffers": "512MB",
    # No checkpoint falls into one measurement and not into another.
    "max_wal_size": "16GB",
    "checkpoint_timeout": "1h",
    "max_connections": "200",
}


class Database:
    """Owns the cluster: made on entry, stopped and removed on exit."""

    def __init__(self, cores=None):
        self.cores = cores
        self.bin = max(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: float(path.parent.name))
        self.directory = None

    def __enter__(self):
        self.directory = Path(tempfile.mkdtemp(prefix="sluice-bench-", dir="/var/tmp"))
        try:
            if os.geteuid() == 0:
                account = pwd.getpwnam("postgres")
                os.chown(self.directory, account.pw_uid, account.pw_gid)
            self.directory.chmod(0o755)
            self._run("initdb", f"--pgdata={self.data}", "--username=postgres", "--auth=trust", "--locale=C.UTF-8",
                      "--encoding=UTF8", "--no-instructions")
            settings = " ".join(f"-c {name}={value}" for name, value in SETTINGS.items())
            self._run("pg_ctl", "--silent", "--wait", "--pgdata", self.data, "--log", self.directory / "server.log",
                      "--options", f"-k {self.directory} {settings}", "start")
            for name in ("fsync", "synchronous_commit", "full_page_writes"):
                if self.query("postgres", f"SHOW {name}") != "on":
                    raise RuntimeError(f"{name} is not on")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if (self.data / "postmaster.pid").exists():
            self._run("pg_ctl", "--silent", "--wait", "--mode=immediate", "--pgdata", self.data, "stop", check=False)
        shutil.rmtree(self.directory, ignore_errors=True)

    @property
    def data(self):
        return self.directory / "data"

    def url(self, database, user="postgres"):
        return f"postgresql://{user}@/{database}?host={self.directory}"

    def query(self, database, sql):
        """Runs SQL, several statements too, and answers what psql prints."""
        command = ["psql", "--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--set=ON_ERROR_STOP=1",
                   self.url(database)]
        return self._run(*command, input=sql).strip()

    def processor_seconds(self):
        """Of the server and all its processes."""
        return processor_seconds(int((self.data / "postmaster.pid").read_text().split()[0]))

    def number(self, database, sql):
        return int(self.query(database, sql))

    def settle(self):
        """Writes out what is dirty, so that one measurement does not pay for another."""
        self.query("postgres", "CHECKPOINT")

    def _run(self, program, *arguments, input=None, check=True):
        prefix = []
        if os.geteuid() == 0:
            prefix = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", "--", "env", "-C", "/"]
        if self.cores and program == "pg_ctl":
            prefix = ["taskset", "--cpu-list", self.cores, *prefix]
        command = [*prefix, str(self.bin / program), *map(str, arguments)]
        # pg_ctl hands its output to the server, so a pipe would never end.
        if program == "pg_ctl":
            subprocess.run(command, check=check, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)
            return ""
        done = subprocess.run(command, input=input, text=True, capture_output=True)
        if check and done.returncode != 0:
            raise RuntimeError(f"{program}: {done.stderr.strip()}")
        return done.stdout
