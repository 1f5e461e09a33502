"""Stands before a PostgreSQL server and speaks TLS, with records of 16 KiB: tls_proxy.py CERTIFICATE KEY SOCKET. Prints
its port, and serves one client."""

import select
import socket
import ssl
import sys
import threading

certificate, key, path = sys.argv[1:]
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
client, _ = listener.accept()
# The client asks for TLS, and may go on once it is told that it can have it.
client.recv(8, socket.MSG_WAITALL)
client.sendall(b"S")
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate, key)
tls = context.wrap_socket(client, server_side=True)
server = socket.socket(socket.AF_UNIX)
server.connect(path)


def answers():
    """Sends what the server sends, in records as large as they come."""
    held = b""
    while True:
        if len(held) < 16_384 and (not held or select.select([server], [], [], 0.05)[0]):
            data = server.recv(65_536)
            if not data:
                break
            held += data
            continue
        tls.sendall(held[:16_384])
        held = held[16_384:]


threading.Thread(target=answers, daemon=True).start()
while data := tls.recv(65_536):
    server.sendall(data)
