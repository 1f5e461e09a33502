"""Takes a dump and a base backup as docs/backup.md says, restores both into an empty server and goes on serving."""

import base64
import http.client
import json
import os
import secrets
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

from network import ip
from postgres import FILES_OF_BACKUP, DebianCluster, Postgres, documented
from supervisor import Supervised

PORT = 8080
BACKUPS = Path("/var/backups/sluice")
URL = "postgresql://sluice@127.0.0.1/sluice"
BUCKET = "links"
READY_SECONDS = 60


class Site:
    """One gateway and its admin."""

    def __init__(self, program, directory):
        self.program = program
        self.key = secrets.token_hex(32)
        self.settings = {
            **os.environ, "SLUICE_DATABASE_URL": URL, "SLUICE_LISTEN": f"127.0.0.1:{PORT}",
            "SLUICE_MASTER_KEY": base64.b64encode(secrets.token_bytes(32)).decode(),
            "SLUICE_BOOTSTRAP_ADMIN_KEY": self.key}
        self.gateway = Supervised("gateway", [str(program), "serve"], self.settings, directory / "gateway.log", 1)

    def command(self, name, **changes):
        done = subprocess.run([str(self.program), name], env={**self.settings, **changes}, text=True, capture_output=True)
        if done.returncode != 0:
            raise RuntimeError(f"sluice {name}: {done.stdout}{done.stderr}")

    def diagnose(self, *checks):
        """Demands that `sluice doctor` finds nothing at these checks; nobody reaches a store from here."""
        done = subprocess.run([str(self.program), "doctor", "--json"], env=self.settings, text=True, capture_output=True)
        wrong = [one for one in json.loads(done.stdout)["checks"] if one["check"] in checks and one["outcome"] != "ok"]
        check(not wrong, f"sluice doctor: {wrong}")

    def migrate(self):
        self.command("migrate", SLUICE_DATABASE_URL=URL.replace("sluice@", "sluice_owner@"))

    def wait_until_ready(self):
        deadline = time.monotonic() + READY_SECONDS
        while time.monotonic() < deadline:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/readyz", timeout=5):
                    return
            except (urllib.error.HTTPError, OSError):
                time.sleep(0.1)
        raise RuntimeError(f"the gateway is not ready after {READY_SECONDS} s")

    def call(self, method, path, body=None, key=None, **fields):
        connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=30)
        try:
            connection.request(method, path, None if body is None else json.dumps(body), {
                "Authorization": f"Bearer {key or self.key}", "Content-Type": "application/json", **fields})
            answer = connection.getresponse()
            content = answer.read()
            return answer.status, json.loads(content) if content else None
        finally:
            connection.close()

    def create(self, path, row):
        status, answer = self.call("POST", path, row)
        check(status in (200, 201), f"POST {path}: {status} {answer}")
        return answer

    def ask(self, key, **fields):
        """Status and link. The request by which a gateway finds that its database is another one is refused with 503,
        and is sent again, as clients do."""
        end = time.monotonic() + READY_SECONDS
        while True:
            status, answer = self.call("POST", "/v1/presigned-urls", {
                "action": "GetObject", "bucket": BUCKET, "key": "photos/1.jpg"}, key, **fields)
            if status != 503 or time.monotonic() > end:
                return status, answer.get("id"), answer.get("url")
            time.sleep(0.1)

    def links(self, key, count):
        made = []
        for _ in range(count):
            status, link, _ = self.ask(key)
            check(status == 201, f"a link: {status}")
            made.append(link)
        return made


def check(condition, sentence):
    if not condition:
        raise RuntimeError(sentence)


def wait(condition, sentence):
    end = time.monotonic() + READY_SECONDS
    while not condition():
        check(time.monotonic() < end, sentence)
        time.sleep(0.05)


class Rehearsal:
    """The whole of it; `run` answers the status of the program."""

    LIMIT = 40

    def __init__(self, program, directory):
        self.site = Site(program, directory)
        self.directory = directory

    def run(self):
        ip("link", "set", "lo", "up")
        # The documented place, seen by this program alone.
        subprocess.run(["mount", "-t", "tmpfs", "none", "/var/backups"], check=True)
        subprocess.run(
            ["install", "-d", "-m", "700", "-o", "postgres", "-g", "postgres", BACKUPS, BACKUPS / "wal"], check=True)
        self.first = DebianCluster(self.directory, "first")
        self.first.initialize((FILES_OF_BACKUP / "archive.conf").read_text())
        self.first.start()
        self._live_and_back_up()
        self._restore_the_dump()
        self._restore_to_the_moment()
        self._restore_again()
        self.first.stop()
        print("A dump and a base backup were restored, and the gateway went on.")
        return 0

    def _live_and_back_up(self):
        site = self.site
        self.first.shell(documented("Restoring a dump", 0))
        site.migrate()
        site.gateway.start()
        site.wait_until_ready()
        credential = site.create("/admin/v1/storage-credentials", {
            "name": "main", "accessKeyID": "AKIDEXAMPLE", "secretAccessKey": "made-up-secret"})
        site.create("/admin/v1/buckets", {
            "name": BUCKET, "provider": "s3", "endpoint": "https://store.example", "region": "eu-west-1",
            "addressing": "path", "credentialID": credential["id"]})
        site.create("/admin/v1/quotas", {
            "principal": "*", "bucket": BUCKET, "action": "GetObject", "metric": "urls", "period": "total",
            "sharing": "shared", "limit": self.LIMIT})
        self.keys, self.grants = {}, {}
        for name in ("alice", "bob"):
            self.keys[name] = site.create("/admin/v1/api-keys", {"name": name, "principal": f"user:{name}"})["key"]
            self.grants[name] = site.create("/admin/v1/grants", {
                "principal": f"user:{name}", "bucket": BUCKET, "prefix": "", "actions": ["GetObject"]})["id"]
        self.before_backup = site.links(self.keys["alice"], 10)
        self._back_up()
        # A second one of the same day, as after a failover.
        time.sleep(1)
        self.taken = self._back_up()
        mode = (BACKUPS / f"{self.taken}.dump").stat().st_mode & 0o777
        check(mode == 0o600, f"others may read the dump: {mode:o}")
        self.earlier_moment = self.first.query("SELECT clock_timestamp()::text")[0][0]
        self.before_moment = site.links(self.keys["alice"], 10)
        self.moment = self.first.query("SELECT clock_timestamp()::text")[0][0]
        time.sleep(1)
        # What the restored database will not know of.
        self.after_moment = site.links(self.keys["bob"], 10)
        self.again = {"Idempotency-Key": "after-the-moment"}
        status, self.repeated, _ = site.ask(self.keys["alice"], **self.again)
        check(status == 201 and site.ask(self.keys["alice"], **self.again)[1] == self.repeated, "a request is not repeated")
        status, _ = site.call("DELETE", f"/admin/v1/grants/{self.grants['bob']}")
        check(status == 204 and site.ask(self.keys["bob"])[0] == 403, "bob's grant is not revoked")
        last = self._archive(self.first)
        self._archive_again(last)

    def _back_up(self):
        """Takes both backups as documented; returns the time in their names."""
        old = set(BACKUPS.glob("base-*"))
        self.first.shell(documented("What to back up", 0))
        made = set(BACKUPS.glob("base-*")) - old
        check(len(made) == 1, f"{len(made)} base backups were made")
        taken = made.pop().name.removeprefix("base-")
        check((BACKUPS / f"{taken}.dump").exists(), f"no dump has the time {taken}")
        return taken

    def _archive(self, server):
        """Waits until what was written is in the archive; returns the name of the last file."""
        last = server.query("SELECT pg_walfile_name(pg_switch_wal())")[0][0]
        wait(lambda: (BACKUPS / f"wal/{last}.gz").exists(), f"{last} is not archived")
        return last

    def _archive_again(self, name):
        """As after a crash between the archiving of a file and the note of it."""
        notes = self.first.data / "pg_wal/archive_status"
        wait(lambda: (notes / f"{name}.done").exists(), f"{name} is not noted")
        (notes / f"{name}.done").rename(notes / f"{name}.ready")
        # Another file wakes the archiver, which otherwise sleeps for a minute.
        self.first.query("SELECT pg_switch_wal() FROM pg_create_restore_point('wake')")
        wait(lambda: (notes / f"{name}.done").exists(), f"{name} is not archived a second time")

    def _copy_of(self, server):
        """A standby of a restored server, which must stay one."""
        standby = Postgres(self.directory, "standby")
        standby.shell(f"pg_basebackup --pgdata=\"$PGDATA\" --write-recovery-conf --checkpoint=fast --host={server.sockets}")
        # The server's own configuration is elsewhere.
        (standby.data / "postgresql.conf").touch()
        (standby.data / "pg_hba.conf").write_text("local all all trust\n")
        with open(standby.data / "postgresql.auto.conf", "a") as file:
            file.write(f"unix_socket_directories = '{standby.directory}'\nlisten_addresses = ''\n")
        standby.start()
        written = server.query("SELECT pg_current_wal_flush_lsn()::text FROM pg_switch_wal()")[0][0]
        has_all = lambda: standby.query("SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn", written)[0][0]
        wait(has_all, "the standby does not follow")
        check(standby.query("SELECT pg_is_in_recovery()")[0][0], "the standby promoted itself")
        standby.stop()

    def _restore_the_dump(self):
        """Into a new server, with a gateway that is started for it."""
        self.site.gateway.stop()
        self.first.stop("immediate")
        restored = Postgres(self.directory, "from-dump")
        restored.initialize()
        restored.start()
        for number in (0, 1):
            restored.shell(documented("Restoring a dump", number), taken=self.taken)
        self.site.migrate()
        self.site.diagnose("schema", "roles", "master-key")
        self.site.gateway.start()
        self.site.wait_until_ready()
        self._expect(restored, held=self.before_backup, gone=self.before_moment + self.after_moment)
        restored.stop()

    def _restore_to_the_moment(self):
        """Below a gateway that goes on running: it knows policy that the restored database does not."""
        self.first.start()
        self.site.wait_until_ready()
        check(self.site.ask(self.keys["bob"])[0] == 403, "bob's grant is not revoked in the first server")
        restored = self.first
        self._recover(moment=self.moment)
        self.site.wait_until_ready()
        self._expect(restored, held=self.before_backup + self.before_moment, gone=self.after_moment)
        status, link, _ = self.site.ask(self.keys["alice"], **self.again)
        check(status == 201 and link != self.repeated, "a repeated request gets the link of a row that is gone")
        check(self.site.gateway.ends == [], "the gateway ended")
        self._open(timeline=2)
        check(self.site.ask(self.keys["alice"])[0] == 201, "nothing is issued after the restart")
        self._copy_of(restored)

    def _restore_again(self):
        """From the same base backup: to a moment before the first one, and to one that this restore undid."""
        self._recover(moment=self.earlier_moment)
        self._expect_rows(self.first, held=self.before_backup, gone=self.before_moment + self.after_moment)
        self._open(timeline=3)
        self._recover(moment=self.moment, timeline="current")
        self._expect_rows(self.first, held=self.before_backup + self.before_moment, gone=self.after_moment)
        self._open(timeline=4)

    def _recover(self, **variables):
        """The documented commands up to the look at what was restored."""
        stop, copy, start = (documented("Restoring to a moment", number) for number in range(3))
        self.first.root_shell(stop)
        shutil.rmtree(f"{self.first.data}.before", ignore_errors=True)
        self.first.shell(copy, taken=self.taken, **variables)
        self.first.root_shell(start)
        while self.first.query("SELECT pg_is_in_recovery()")[0][0]:
            time.sleep(0.1)

    def _open(self, timeline):
        """The documented commands after the look. What the server archives then must be of this timeline."""
        reset, restart = (documented("Restoring to a moment", number) for number in (3, 4))
        self.first.shell(reset)
        self.first.root_shell(restart)
        self.site.wait_until_ready()
        self.site.migrate()
        last = self._archive(self.first)
        check(last.startswith(f"{timeline:08X}"), f"{last} is not of timeline {timeline}")
        check((BACKUPS / f"wal/{timeline:08X}.history.gz").exists(), f"the history of timeline {timeline} is not archived")

    def _expect(self, restored, held, gone):
        self._expect_rows(restored, held, gone)
        # What the documentation warns of: the grant that was revoked later is in force again.
        status, _, url = self.site.ask(self.keys["bob"])
        check(status == 201 and "X-Amz-Signature=" in url, f"bob is refused ({status}), although nothing revoked his grant")
        # The quota counts what is left of the ledger, exactly.
        used = len(held) + 1
        statuses = [self.site.ask(self.keys["alice"])[0] for _ in range(self.LIMIT - used + 1)]
        check(statuses == [201] * (self.LIMIT - used) + [429], f"the quota of {self.LIMIT} ended otherwise: {statuses}")
        self.site.command("audit-quotas")
        status, _ = self.site.call("PATCH", f"/admin/v1/quotas/{restored.query('SELECT id FROM quotas')[0][0]}",
                                   {"limit": self.LIMIT + 10}, **{"If-Match": "*"})
        check(status == 200, f"the quota cannot be raised: {status}")

    def _expect_rows(self, restored, held, gone):
        count = lambda ids: restored.query("SELECT count(*) FROM issuances WHERE id = ANY (%s::uuid[])", ids)[0][0]
        check(count(held) == len(held), f"{len(held) - count(held)} links of before have no row")
        check(count(gone) == 0, "rows of after the backup are there")
