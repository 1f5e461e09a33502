#!/usr/bin/env python3
"""Counts the batch requests of Git LFS, with 100 objects each, that servers answer in a second.

    compare.py [--seconds 5] [--clients 4] NAME=URL=AUTHORIZATION…

URL is that of a server, to which `/objects/batch` is added. Each client sends one batch after another on one
connection, and counts it if all its objects have a link. Servers are measured one after another.

giftless needs what requirements.txt beside this file names. With a configuration that signs for the same store,
`gunicorn --workers 2 giftless.wsgi_entrypoint:app` serves it.
"""

import argparse
import hashlib
import http.client
import json
import threading
import time
from urllib.parse import urlsplit

OBJECTS = 100


def body(operation, start):
    objects = [{"oid": hashlib.sha256(b"%d" % (start + n)).hexdigest(), "size": 1000 + n} for n in range(OBJECTS)]
    return json.dumps({"operation": operation, "transfers": ["basic"], "objects": objects}).encode()


def client(url, authorization, operation, end, counts, failures):
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=30)
    headers = {
        "Accept": "application/vnd.git-lfs+json",
        "Content-Type": "application/vnd.git-lfs+json",
    }
    if authorization:
        headers["Authorization"] = authorization
    sent = body(operation, 0)
    count = 0
    while time.monotonic() < end:
        connection.request("POST", parts.path + "/objects/batch", sent, headers)
        answer = connection.getresponse()
        text = answer.read()
        if answer.status != 200 or any("actions" not in item for item in json.loads(text)["objects"]):
            failures.append((answer.status, text[:300]))
            break
        count += 1
    counts.append(count)


def measure(url, authorization, operation, seconds, clients):
    counts, failures = [], []
    end = time.monotonic() + seconds
    threads = [
        threading.Thread(target=client, args=(url, authorization, operation, end, counts, failures))
        for _ in range(clients)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise SystemExit(f"{url}: {failures[0]}")
    return sum(counts) / seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--operation", choices=["download", "upload"], default="download")
    parser.add_argument("servers", nargs="+")
    options = parser.parse_args()
    for server in options.servers:
        name, url, authorization = server.split("=", 2)
        measure(url, authorization, options.operation, 1, 1)
        rate = measure(url, authorization, options.operation, options.seconds, options.clients)
        print(f"{name}: {rate:.1f} batches of {OBJECTS} {options.operation}s in a second")


main()
