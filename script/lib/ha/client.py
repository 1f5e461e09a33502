"""A client of HTTP/1.1 with a pool of connections, for many requests at once."""

import asyncio
import json

# Above the gateway's own deadline for answers.
ANSWER_SECONDS = 20


# In place of a status: the connection was closed or refused, or nothing came in time.
CLOSED, SILENT = 0, -1


class Client:
    """Requests to one gateway."""

    def __init__(self, port):
        self.port = port
        self.idle = []

    async def call(self, method, path, token, body=None):
        """Status and body as JSON."""
        try:
            # asyncio.wait_for of Python 3.11 loses a cancellation that meets the answer.
            async with asyncio.timeout(ANSWER_SECONDS):
                return await self._call(method, path, token, body)
        except TimeoutError:
            return SILENT, None
        except (OSError, EOFError):
            return CLOSED, None

    async def _call(self, method, path, token, body):
        text = b"" if body is None else json.dumps(body).encode()
        head = (f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n").encode()
        while self.idle:
            reader, writer = self.idle.pop()
            if not reader.at_eof() and not writer.is_closing():
                break
            # The gateway closes connections that are idle for long.
            writer.close()
        else:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(head + text)
            lines = (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")
            status = int(lines[0].split()[1])
            fields = {}
            for line in lines[1:]:
                name, _, value = line.partition(b":")
                fields[name.strip().lower()] = value.strip()
            content = await reader.readexactly(int(fields.get(b"content-length", 0)))
        except BaseException:
            writer.close()
            raise
        if fields.get(b"connection", b"").lower() == b"close":
            writer.close()
        else:
            self.idle.append((reader, writer))
        return status, json.loads(content) if content else None

    def close(self):
        for _, writer in self.idle:
            writer.close()
        self.idle.clear()
