"""Machines of a network of their own: namespaces of the kernel, joined by two bridges.

script/ha runs this program in namespaces for network, mounts and processes, so all of it is gone when the program ends.
"""

import os
import signal
import subprocess

CLIENTS, CLUSTER = "10.77.0", "10.77.1"


def ip(*arguments):
    subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True)


def prepare():
    """Makes the bridges: one for gateways and databases, one for databases and etcd."""
    os.makedirs("/run/netns", exist_ok=True)
    # Names of namespaces stay in this mount namespace.
    subprocess.run(["mount", "-t", "tmpfs", "none", "/run/netns"], check=True)
    ip("link", "set", "lo", "up")
    for bridge, network in (("clients", CLIENTS), ("cluster", CLUSTER)):
        ip("link", "add", bridge, "type", "bridge")
        ip("address", "add", f"{network}.1/24", "dev", bridge)
        ip("link", "set", bridge, "up")


class Machine:
    """A namespace with an address in each network."""

    def __init__(self, name, number):
        self.name = name
        self.address = f"{CLIENTS}.{number}"
        self.inner_address = f"{CLUSTER}.{number}"
        ip("netns", "add", name)
        ip("-n", name, "link", "set", "lo", "up")
        for bridge, address in (("clients", self.address), ("cluster", self.inner_address)):
            ip("link", "add", f"{name}-{bridge}", "type", "veth", "peer", "name", bridge, "netns", name)
            ip("-n", name, "address", "add", f"{address}/24", "dev", bridge)
            ip("-n", name, "link", "set", bridge, "up")
        self.join()
        self.inode = os.stat(f"/run/netns/{name}").st_ino

    def command(self, *words):
        """What runs a command here, as the user postgres."""
        return ["ip", "netns", "exec", self.name, "setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups",
                "--", *map(str, words)]

    def cut(self, *bridges):
        """Cuts the machine off the networks named; packets are lost in silence."""
        for bridge in bridges or ("clients", "cluster"):
            ip("link", "set", f"{self.name}-{bridge}", "nomaster")
            ip("link", "set", f"{self.name}-{bridge}", "down")

    def join(self):
        for bridge in ("clients", "cluster"):
            ip("link", "set", f"{self.name}-{bridge}", "master", bridge, "up")

    def processes(self):
        found = []
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                if os.stat(f"/proc/{name}/ns/net").st_ino == self.inode:
                    found.append(int(name))
            except OSError:
                continue
        return found

    def signal(self, number, pids=None):
        """Sends a signal to all processes of the machine, or to those given."""
        for pid in self.processes() if pids is None else pids:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                continue

    def freeze(self):
        # A process may have been started meanwhile.
        for _ in range(2):
            self.signal(signal.SIGSTOP)

    def thaw(self):
        self.signal(signal.SIGCONT)
