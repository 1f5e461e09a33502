"""A proxy before one server that does to chosen requests what networks and busy servers do."""

import asyncio
import contextlib
import json
import socket
import struct
import threading

PIECE = 65_536
CORS = (b"Access-Control-Allow-Origin: *\r\nAccess-Control-Allow-Headers: *\r\n"
        b"Access-Control-Expose-Headers: Retry-After\r\n")


class FaultProxy:
    """Forwards requests of HTTP/1.1, each on a connection of its own.

    `plan` lists faults in the order in which they are to happen: JSON objects with `kind`, and optionally `method`,
    `path` (a part of the target) and `skip`, the number of such requests that pass before.

    - `cut` forwards `after` bytes of the request's body, then resets both connections.
    - `cut-answer` forwards `after` bytes of the answer's body, then resets.
    - `lose` forwards the request, and resets when the answer is there.
    - `hide` forwards the request, and answers as `answer` does in place of the server.
    - `spoil` forwards the request with the first byte of its body changed.
    - `answer` reads the request and answers `status`, with `retryAfter` or `body`; with `cors`, pages can read it, and
      with `missing`, the connection is reset while so many bytes of the body are missing.
    - `delay` waits `seconds` first.

    Clients replace the plan by `POST /.faults`, which answers what of the last one has not happened.
    """

    def __init__(self, port):
        self.upstream = port
        self.plan = []
        self.happened = []
        # What arrived for the server, by method: requests, and bytes of their bodies.
        self.requests, self.bytes = {}, {}
        self.serving = set()
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)

    def __enter__(self):
        self.thread.start()
        self.server = self._run(asyncio.start_server(self._serve, "127.0.0.1", 0, limit=PIECE))
        self.port = self.server.sockets[0].getsockname()[1]
        self.base = f"http://127.0.0.1:{self.port}"
        return self

    def __exit__(self, *_):
        self._run(self._end())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()

    def _run(self, work):
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(10)

    async def _end(self):
        self.server.close()
        for task in self.serving:
            task.cancel()
        await asyncio.gather(*self.serving, return_exceptions=True)

    async def _serve(self, reader, writer):
        # The loop itself holds tasks only weakly.
        task = asyncio.current_task()
        self.serving.add(task)
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                await self._exchange(reader, writer)
        finally:
            self.serving.discard(task)
            writer.close()

    async def _exchange(self, reader, writer):
        head = await reader.readuntil(b"\r\n\r\n")
        first, *lines = head[:-4].split(b"\r\n")
        method, target, _ = first.decode().split(" ")
        fields = {name.strip().lower(): value.strip() for name, _, value in (line.partition(b":") for line in lines)}
        length = int(fields.get(b"content-length", 0))
        if target == "/.faults":
            await self._take_plan(reader, writer, method, length)
            return
        fault = self._fault(method, target)
        kind = fault["kind"] if fault else ""
        if kind == "delay":
            await asyncio.sleep(fault["seconds"])
        if kind == "answer":
            await self._pass(reader, None, length)
            await self._answer(writer, fault)
            return
        self.requests[method] = self.requests.get(method, 0) + 1
        up_reader, up_writer = await asyncio.open_connection("127.0.0.1", self.upstream)
        try:
            kept = [line for line in lines if not line.lower().startswith((b"connection:", b"keep-alive:"))]
            up_writer.write(b"\r\n".join([first, *kept, b"Connection: close"]) + b"\r\n\r\n")
            sent = min(length, fault.get("after", 0)) if kind == "cut" else length
            sending = asyncio.ensure_future(self._pass(reader, up_writer, sent, kind == "spoil"))
            if kind == "cut":
                await sending
                self._count(method, sent)
                reset(writer)
                return
            returning = asyncio.ensure_future(self._return(up_reader, writer, fault))
            # A server may answer before it has read everything, and a client may go away.
            await asyncio.wait({sending, returning}, return_when=asyncio.FIRST_COMPLETED)
            if sending.done() and not sending.exception():
                self._count(method, sent)
                await returning
            for one in (sending, returning):
                one.cancel()
            await asyncio.gather(sending, returning, return_exceptions=True)
        finally:
            up_writer.close()

    def _count(self, method, length):
        self.bytes[method] = self.bytes.get(method, 0) + length

    async def _return(self, reader, writer, fault):
        kind = fault["kind"] if fault else ""
        rest = fault["after"] if kind == "cut-answer" else None
        head = await reader.readuntil(b"\r\n\r\n")
        if kind in ("lose", "hide"):
            await reader.read()
            if kind == "lose":
                reset(writer)
            else:
                await self._answer(writer, fault)
            return
        writer.write(head)
        while piece := await reader.read(PIECE if rest is None else min(PIECE, rest)):
            writer.write(piece)
            await writer.drain()
            if rest is not None:
                rest -= len(piece)
                if rest == 0:
                    # What was written has to leave before the reset does.
                    await asyncio.sleep(0.2)
                    reset(writer)
                    return

    async def _pass(self, reader, writer, length, spoils=False):
        rest = length
        while rest:
            piece = await reader.read(min(PIECE, rest))
            if not piece:
                raise ConnectionResetError
            if spoils and rest == length:
                piece = bytes([piece[0] ^ 1]) + piece[1:]
            rest -= len(piece)
            if writer:
                writer.write(piece)
                await writer.drain()
        return length

    async def _answer(self, writer, fault):
        body = fault.get("body", "").encode()
        retry = f"Retry-After: {fault['retryAfter']}\r\n".encode() if "retryAfter" in fault else b""
        missing = fault.get("missing", 0)
        length = len(body) + missing
        writer.write(b"HTTP/1.1 %d Fault\r\nContent-Length: %d\r\nConnection: close\r\n" % (fault["status"], length)
                     + (CORS if fault.get("cors") else b"") + retry + b"\r\n" + body)
        await writer.drain()
        if missing:
            # What was written has to leave before the reset does.
            await asyncio.sleep(0.2)
            reset(writer)

    async def _take_plan(self, reader, writer, method, length):
        body = await reader.readexactly(length)
        left = json.dumps(self.plan)
        if method == "POST":
            self.plan = json.loads(body)
        await self._answer(writer, {"status": 200, "body": left, "cors": True})

    def _fault(self, method, target):
        for fault in self.plan:
            if method != fault.get("method", method) or fault.get("path", "") not in target or method == "OPTIONS":
                continue
            if fault.get("skip", 0) > 0:
                fault["skip"] -= 1
                return None
            self.plan.remove(fault)
            self.happened.append(fault["kind"])
            return fault
        return None


def reset(writer):
    """Ends a connection so that the other side learns of an error."""
    connection = writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
