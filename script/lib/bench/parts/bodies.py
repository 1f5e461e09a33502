"""A gateway that is sent bodies by callers without a token, half of each, beside good ones, next to one that is not."""

import contextlib
import select
import socket
import threading

import rows
from database import Database
from gateway import Gateway
from load import Issue
from report import alternate, versions
from server import allow_open_files

BUSY = 256
COUNT = 1_024
# Half of the connections announce each: one that is gathered before anybody looks at it, and one that is not.
LENGTHS = (60 << 10, 2 << 20)
# Files beside the connections, as of the busy ones.
SPARE = 1_000
# They are not to be cut off before the end.
SETTINGS = {"HTTP_MAX_CONNECTIONS_PER_ADDRESS": 4 * COUNT, "HTTP_REQUEST_TIMEOUT": 3_600, "HTTP_IDLE_TIMEOUT": 3_600}


class HalfBodies:
    """Connections each of which sends the half of a body and then waits; one that is answered is closed."""

    def __init__(self, gateway, count):
        self.gateway = gateway
        self.count = count
        self.waiting = {}
        self.poll = select.epoll()
        self.answered = 0
        self.others = 0
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._run)

    def __enter__(self):
        try:
            for number in range(self.count):
                self._open(LENGTHS[number % len(LENGTHS)])
        except BaseException:
            self._close()
            raise
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()
        self._close()

    def _close(self):
        for one, _ in self.waiting.values():
            one.close()
        self.poll.close()

    def _open(self, length):
        one = socket.create_connection(("127.0.0.1", self.gateway.port), timeout=10)
        one.setblocking(False)
        head = (f"POST /v1/presigned-urls/batch HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer nobody\r\n"
                f"Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n")
        self.waiting[one.fileno()] = (one, memoryview(head.encode() + bytes(length // 2)))
        self.poll.register(one, select.EPOLLIN | select.EPOLLOUT)

    def _run(self):
        while not self.over.is_set():
            for number, event in self.poll.poll(0.05):
                self._go_on(number, event)

    def _go_on(self, number, event):
        one, rest = self.waiting[number]
        try:
            # What is answered already need not be sent to its end.
            if event & ~select.EPOLLOUT:
                return self._end(number, one.recv(65_536))
            rest = rest[one.send(rest):]
        except BlockingIOError:
            return
        except ConnectionError:
            return self._end(number, b"")
        self.waiting[number] = (one, rest)
        if not rest:
            self.poll.modify(one, select.EPOLLIN)

    def _end(self, number, answer):
        one, _ = self.waiting.pop(number)
        if answer.startswith(b"HTTP/1.1 401 "):
            self.answered += 1
        else:
            self.others += 1
        self.poll.unregister(one)
        one.close()


def measure(chosen, report):
    allow_open_files(COUNT + SPARE)
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
        with HalfBodies(laden, COUNT) as bodies:
            without, beside = series = alternate(
                [load("no bodies beside", plain), load(f"{COUNT:,} half bodies", laden)], database, chosen)
        report.add(series)
        report.ratio("body-rate", beside, without)
        report.measured("body-memory", laden.memory("VmHWM"),
                        note=f"{COUNT:,} bodies of {' or '.join(f'{length:,}' for length in LENGTHS)} bytes, half of each"
                             f" sent; {bodies.answered:,} answered with 401, {bodies.others:,} cut off; {plain.memory('VmHWM'):,.0f} MB"
                             " without them.")
