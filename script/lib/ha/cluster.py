"""Three PostgreSQLs under Patroni, and etcd, each on a machine of its own, with the files of ops/patroni."""

import json
import os
import pwd
import re
import secrets
import signal
import subprocess
import time
import urllib.request
from pathlib import Path

import psycopg2

from network import Machine
from supervisor import Supervised

FILES = Path(__file__).resolve().parents[3] / "ops/patroni"
READY_SECONDS = 90


def read_environment(name):
    """The variables of a file of ops/patroni."""
    lines = (FILES / name).read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


def restart_seconds(name):
    """How long systemd waits before it starts a unit again."""
    return float(re.search(r"^RestartSec=(\d+)$", (FILES / name).read_text(), re.MULTILINE).group(1))


class Database:
    """One machine with Patroni and PostgreSQL."""

    def __init__(self, number, directory, etcds, passwords):
        self.machine = Machine(f"db{number}", 10 + number)
        self.name = self.machine.name
        self.data = directory / self.name / "data"
        variables = {}
        for key, value in read_environment("patroni.env").items():
            variables[key] = re.sub(r"(10\.77\.[01]\.)11\b", rf"\g<1>{10 + number}", value.replace("db1", self.name))
        variables |= {
            "PATRONI_POSTGRESQL_DATA_DIR": str(self.data), "PATRONI_SUPERUSER_PASSWORD": passwords["postgres"],
            "PATRONI_REPLICATION_PASSWORD": passwords["replicator"],
        }
        # A socket and a passfile of its own: the machines share the files of this one.
        socket = directory / self.name / "run"
        for path in (directory / self.name, socket):
            path.mkdir()
            own(path)
        configuration = directory / self.name / "config.yml"
        text = re.sub(r"(?<=\netcd:\n  hosts: ).*", ",".join(etcds), (FILES / "patroni.yml").read_text())
        configuration.write_text(text.replace(
            "\n  parameters:\n    password_encryption", f"\n  pgpass: {directory / self.name / 'pgpass'}"
            f"\n  parameters:\n    unix_socket_directories: {socket}\n    password_encryption"))
        self.patroni = Supervised(
            f"patroni {self.name}", self.machine.command("patroni", configuration),
            {**os.environ, "HOME": str(directory / self.name), **variables}, directory / f"{self.name}.log",
            restart_seconds("patroni.service.conf"))

    def postmaster(self):
        return int((self.data / "postmaster.pid").read_text().split()[0])

    def postgres_processes(self):
        """The server and all that it started."""
        root = self.postmaster()
        found = [root]
        for pid in self.machine.processes():
            try:
                stat = Path(f"/proc/{pid}/stat").read_text()
            except OSError:
                continue
            if int(stat.rsplit(")", 1)[1].split()[1]) == root:
                found.append(pid)
        return found

    def kill(self):
        """Everything on the machine, at once; what supervises it starts Patroni again."""
        self.machine.signal(signal.SIGKILL)


class Etcd:
    def __init__(self, number, count, directory):
        self.machine = Machine(f"etcd{number}", 20 + number)
        self.endpoint = f"{self.machine.inner_address}:2379"
        data = directory / self.machine.name
        data.mkdir()
        own(data)
        variables = read_environment("etcd.env")
        members = variables["ETCD_INITIAL_CLUSTER"].split(",")[:count]
        for key, value in variables.items():
            if key not in ("ETCD_INITIAL_CLUSTER", "ETCD_INITIAL_CLUSTER_TOKEN"):
                value = value.replace("etcd1", self.machine.name)
                variables[key] = re.sub(r"(10\.77\.1\.)21\b", rf"\g<1>{20 + number}", value)
        variables |= {"ETCD_INITIAL_CLUSTER": ",".join(members), "ETCD_DATA_DIR": str(data / "data")}
        self.process = Supervised(
            self.machine.name, self.machine.command("etcd"), {**os.environ, **variables},
            directory / f"{self.machine.name}.log", restart_seconds("etcd.service.conf"))


class Cluster:
    """Databases and etcds; `start` returns once there is a primary with a synchronous standby."""

    def __init__(self, directory, etcds):
        self.directory = directory
        self.passwords = {name: secrets.token_hex(16) for name in ("postgres", "replicator", "sluice_owner", "sluice")}
        self.etcds = [Etcd(number, etcds, directory) for number in range(1, etcds + 1)]
        endpoints = [one.endpoint for one in self.etcds]
        self.databases = [Database(number, directory, endpoints, self.passwords) for number in (1, 2, 3)]

    def start(self):
        for one in self.etcds:
            one.process.start()
        for one in self.databases:
            one.patroni.start()
        self.wait_until_whole(READY_SECONDS)
        primary = self.primary()
        self._as_superuser(primary, "postgres", (FILES / "roles.sql").read_text())
        for name in ("sluice_owner", "sluice"):
            self._as_superuser(primary, "postgres", f"ALTER ROLE {name} PASSWORD '{self.passwords[name]}'")
        self._as_superuser(primary, "postgres", "CREATE DATABASE probe OWNER sluice_owner")

    def members(self):
        """What Patroni says of each member, from whichever answers."""
        for one in self.databases:
            try:
                with urllib.request.urlopen(f"http://{one.machine.inner_address}:8008/cluster", timeout=2) as answer:
                    return json.load(answer)["members"]
            except (OSError, ValueError, KeyError):
                continue
        return []

    def wait_until_whole(self, seconds):
        """Waits for a leader, a synchronous standby and another one that streams; answers how long that took."""
        began = time.monotonic()
        while time.monotonic() - began < seconds:
            if self._is_whole():
                return time.monotonic() - began
            time.sleep(0.2)
        raise RuntimeError(f"the cluster is not whole after {seconds} s: {self.members()}")

    def _is_whole(self):
        members = self.members()
        if sorted(one["role"] for one in members) != ["leader", "replica", "sync_standby"]:
            return False
        if any(one["state"] not in ("running", "streaming") for one in members):
            return False
        if len({one.get("timeline") for one in members}) != 1:
            return False
        try:
            with self.connect() as session, session.cursor() as cursor:
                cursor.execute("SELECT count(*), count(*) FILTER (WHERE sync_state = 'sync') FROM pg_stat_replication"
                               " WHERE state = 'streaming'")
                return cursor.fetchone() == (2, 1)
        except psycopg2.Error:
            return False

    def of_role(self, role):
        names = [one["name"] for one in self.members() if one["role"] == role]
        return next((one for one in self.databases if one.name in names), None)

    def primary(self):
        found = self.of_role("leader")
        if found is None:
            raise RuntimeError("there is no primary")
        return found

    def connect(self, database="postgres"):
        """A session of a superuser on the primary."""
        return psycopg2.connect(
            host=",".join(one.machine.inner_address for one in self.databases), user="postgres", dbname=database,
            password=self.passwords["postgres"], target_session_attrs="read-write", connect_timeout=2)

    def query(self, sql, *values, database="sluice"):
        session = self.connect(database)
        try:
            session.autocommit = True
            with session.cursor() as cursor:
                cursor.execute(sql, values)
                return cursor.fetchall()
        finally:
            session.close()

    def control(self, *words):
        """Runs patronictl, which needs no variables."""
        configuration = self.directory / self.databases[0].name / "config.yml"
        done = subprocess.run(
            ["patronictl", "-c", str(configuration), *words], text=True, capture_output=True, timeout=60)
        if done.returncode != 0:
            raise RuntimeError(f"patronictl {words[0]}: {done.stdout}{done.stderr}")
        return done.stdout

    def _as_superuser(self, database, name, sql):
        session = psycopg2.connect(host=database.machine.inner_address, user="postgres", dbname=name,
                                   password=self.passwords["postgres"])
        try:
            session.autocommit = True
            with session.cursor() as cursor:
                for statement in filter(str.strip, sql.split(";\n")):
                    cursor.execute(statement)
        finally:
            session.close()


def own(path):
    account = pwd.getpwnam("postgres")
    os.chown(path, account.pw_uid, account.pw_gid)
