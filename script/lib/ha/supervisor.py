"""Processes that are started again when they end, as systemd does with a unit file of ops/."""

import subprocess
import threading
import time


class Supervised:
    """A process; started again some seconds after it ended by itself."""

    def __init__(self, name, command, environment, log, restart_seconds):
        self.name = name
        self.command = command
        self.environment = environment
        self.log = log
        self.restart_seconds = restart_seconds
        self.process = None
        self.wanted = False
        # Ends that nobody asked for, with their status.
        self.ends = []
        self.lock = threading.Lock()

    def start(self):
        with self.lock:
            self.wanted = True
            self._spawn()
        threading.Thread(target=self._watch, args=(self.process,), daemon=True).start()

    def stop(self, seconds=60):
        """Ends it and waits; answers its status."""
        with self.lock:
            self.wanted = False
            process = self.process
        process.terminate()
        return process.wait(seconds)

    @property
    def pid(self):
        return self.process.pid

    def _spawn(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.command, env=self.environment, stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log)

    def _watch(self, process):
        while True:
            status = process.wait()
            with self.lock:
                if not self.wanted or self.process is not process:
                    return
                self.ends.append(status)
            time.sleep(self.restart_seconds)
            with self.lock:
                if not self.wanted:
                    return
                self._spawn()
                process = self.process
