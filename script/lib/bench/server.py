"""A server of this run: started, waited for, measured from outside, and ended."""

import os
import re
import resource
import shlex
import socket
import subprocess
import time
import urllib.error
import urllib.request

START_SECONDS = 60
TICKS = os.sysconf("SC_CLK_TCK")


def allow_open_files(count):
    """Raises the limit of this program and of those that it starts from now on."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    endless = resource.RLIM_INFINITY
    if soft != endless and soft < count:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (count, hard if hard == endless else max(hard, count)))
        except (ValueError, OSError) as error:
            raise RuntimeError(f"{count:,} open files are needed, the limit (ulimit -Hn) is {hard:,}") from error


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """Runs a program that serves HTTP on a port of loopback; ready on entry, gone on exit."""

    ready_path = "/"

    def __init__(self, log, cores=None):
        self.log = log
        self.cores = cores
        self.port = free_port()
        self.base = f"http://127.0.0.1:{self.port}"
        self.process = None
        self.seconds_to_ready = None

    def command(self):
        raise NotImplementedError

    def environment(self):
        return dict(os.environ)

    def told(self):
        """The command, for readers, without secrets."""
        return shlex.join(self.command())

    def __enter__(self):
        # What outlives this program by accident would disturb the next run.
        command = ["setpriv", "--pdeathsig", "TERM", "--", *self.command()]
        if self.cores:
            command = ["taskset", "--cpu-list", self.cores, *command]
        began = time.monotonic()
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(command, env=self.environment(), stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log)
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
                raise RuntimeError(f"{self.command()[0]} ended with status {self.process.returncode}:\n{self._tail()}")
            if self.status(self.ready_path) == 200:
                self.seconds_to_ready = time.monotonic() - began
                return
            time.sleep(0.005)
        raise RuntimeError(f"{self.command()[0]} is not ready after {START_SECONDS} s:\n{self._tail()}")

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

    def memory(self, field="VmRSS"):
        """Resident memory now, or with `VmHWM` at its highest, in MB."""
        with open(f"/proc/{self.process.pid}/status") as status:
            return int(re.search(rf"{field}:\s+(\d+) kB", status.read()).group(1)) / 1024

    def processor_seconds(self):
        return processor_seconds(self.process.pid)

    def drop_log(self):
        """Empties the log, which would otherwise fill the disk of a long run."""
        os.truncate(self.log, 0)


def processor_seconds(root):
    """What a process, its children and those of them that have ended have used, in seconds of one core."""
    parents, ticks = {}, {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as stat:
                fields = stat.read().rsplit(")", 1)[1].split()
        except OSError:
            continue
        parents[int(name)] = int(fields[1])
        ticks[int(name)] = sum(int(field) for field in fields[11:15])

    def belongs(number):
        while number and number != root:
            number = parents.get(number, 0)
        return number == root

    return sum(used for number, used in ticks.items() if belongs(number)) / TICKS
