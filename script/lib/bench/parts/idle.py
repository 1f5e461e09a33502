"""A gateway that holds many idle connections beside busy ones, next to one that does not."""

import contextlib
import select
import socket

import rows
from database import Database
from gateway import Gateway
from load import Issue
from report import alternate, versions
from server import allow_open_files

BUSY = 256
ASKED = 10_000
# Files beside the idle connections: of the gateway, whose busy connections come on top.
SPARE = 1_000
SETTINGS = {"HTTP_MAX_CONNECTIONS": 15_000, "HTTP_MAX_CONNECTIONS_PER_ADDRESS": 15_000, "HTTP_IDLE_TIMEOUT": 3_600}


class IdleConnections:
    """Keep-alive connections over each of which one request was answered."""

    def __init__(self, gateway, count):
        self.gateway = gateway
        self.count = count
        self.sockets = []

    def __enter__(self):
        try:
            for _ in range(self.count):
                one = socket.create_connection(("127.0.0.1", self.gateway.port), timeout=10)
                self.sockets.append(one)
                one.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
                answer = one.recv(4096)
                if not answer.startswith(b"HTTP/1.1 200 "):
                    raise RuntimeError(f"connection {len(self.sockets):,}: {answer[:100]!r}")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for one in self.sockets:
            one.close()

    def closed(self):
        """How many the gateway has closed; an idle connection has nothing to read until then."""
        poll = select.poll()
        for one in self.sockets:
            poll.register(one, select.POLLIN)
        return len(poll.poll(0))


def measure(chosen, report):
    allow_open_files(chosen.idle + SPARE)
    with contextlib.ExitStack() as stack:
        database = stack.enter_context(Database())
        report.versions = versions(database)
        callers = rows.users(chosen.users)
        rows.prepare(database, "sluice", chosen.binary, callers)
        requests = rows.requests(database.directory / "requests.txt", callers)
        new = lambda name: stack.enter_context(Gateway(
            chosen.binary, database.url("sluice", rows.ROLE), database.directory / f"{name}.log", **SETTINGS))
        plain, laden = new("plain"), new("laden")
        load = lambda name, gateway: Issue(name, [gateway], BUSY, chosen.threads, requests, database, "sluice")
        with IdleConnections(laden, chosen.idle) as idle:
            report.figure(f"resident memory with {chosen.idle:,} idle connections, before load", laden.memory(), "MB")
            report.figure("resident memory without them, before load", plain.memory(), "MB")
            without, beside = series = alternate(
                [load("no idle connections", plain), load(f"{chosen.idle:,} idle connections", laden)], database, chosen)
            closed = idle.closed()
            report.add(series)
            report.figure(f"resident memory with {chosen.idle:,} idle connections, after load", laden.memory(), "MB")
            report.figure("resident memory without them, after load", plain.memory(), "MB")
            report.ratio("idle-rate", beside, without, is_smaller=chosen.idle < ASKED)
            report.measured("idle-memory", laden.memory() - plain.memory(),
                            note=f"{chosen.idle:,} connections stayed open; settings "
                                 + ", ".join(f"SLUICE_{name}={value}" for name, value in SETTINGS.items()) + ".",
                            is_smaller=chosen.idle < ASKED)
        if closed:
            raise RuntimeError(f"the gateway closed {closed:,} of {chosen.idle:,} idle connections")
